"""A gate that looks at some Agents or Evals only. It says so, and it is a gate of its own.

Were it the gate `gateval`, naming one Eval that passes would turn the required check green.
So its check run and its comment have another name: it can be required by itself, and never stands
for the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gateval.domain.base import Value, digest
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.plan.plan import Plan
from gateval.domain.repository.place import nearest
from gateval.errors import UsageError

WHOLE = "gateval"
"""What the gate is called that leaves nothing out."""

_LONGEST = 60
_DIGITS = 12


class Narrowing(Value):
    """Which Agents and Evals to look at; empty means all. An Eval has to fit both.

    `scheduled` is a run by the clock, which measures one revision and no change.
    """

    agents: tuple[str, ...] = ()
    evals: tuple[str, ...] = ()
    scheduled: bool = False

    @property
    def gate(self) -> str:
        """The gate's name: `gateval`, or one that differs for every other narrowing.

        Names of manifests hold no underscore, so it can part them.
        """
        parts = (("agents", self.agents), ("evals", self.evals))
        named = ["_".join((what, *names)) for what, names in parts if names]
        name = "__".join([*(["scheduled"] if self.scheduled else []), *named]) or WHOLE
        if len(name) <= _LONGEST:
            return name
        return f"{name[: _LONGEST - _DIGITS - 1]}_{digest(name)[:_DIGITS]}"

    def keeps(self, agent: str, evaluation: str) -> bool:
        """Whether this Eval of this Agent is looked at."""
        return (not self.agents or agent in self.agents) and (
            not self.evals or evaluation in self.evals
        )

    def __str__(self) -> str:
        parts = (("the Agents", self.agents), ("the Evals", self.evals))
        return " and ".join(f"{what} {', '.join(names)}" for what, names in parts if names)


EVERYTHING = Narrowing()


def refuse_unknown(narrowing: Narrowing, catalogue: Catalogue) -> None:
    """Raise `UsageError` for a name that head has no manifest for.

    Evals are only read when something changed that could select one; else there is nothing to run.
    """
    agents = [agent.name for agent in catalogue.agents]
    evals = [evaluation.name for evaluation in catalogue.evals]
    refuse_names("Agent", narrowing.agents, agents)
    refuse_names("Eval", narrowing.evals, evals or narrowing.evals)


def refuse_names(kind: str, names: Iterable[str], known: Sequence[str]) -> None:
    """Raise `UsageError` for the first of these names of a kind of manifest that is not known."""
    for name in names:
        if name not in known:
            raise UsageError(
                f'There is no {kind} "{name}" on this revision.{nearest(name, known)}',
                hint=f"Known: {', '.join(sorted(known)[:20]) or 'none'}.",
            )


def narrow(plan: Plan, narrowing: Narrowing) -> Plan:
    """Return the plan without what is not looked at, and with a warning that says so."""
    if not narrowing.agents and not narrowing.evals:
        return plan
    kept = tuple(one for one in plan.evals if narrowing.keeps(one.agent, one.own_name))
    left = [one.name for one in plan.evals if one not in kept]
    said = f"This gate looks at {narrowing} only."
    if left:
        said += f" Left out, though the change calls for them: {', '.join(left)}."
    nothing = plan.nothing or ("" if kept else f"Nothing to evaluate. {said}")
    agents = {one.agent for one in kept}
    return plan.model_copy(
        update={
            "evals": kept,
            "agents": tuple(agent for agent in plan.agents if agent.name in agents),
            "warnings": (said, *plan.warnings),
            "nothing": nothing,
        }
    )
