"""A check of some of what a change calls for. What it leaves out stays in every denominator.

It is the same gate with holes, not a gate of its own (`narrowing.py`): nothing parts its verdict
from the whole gate's but what it says. So it never passes while anything is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gateval.domain.base import Value
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.plan import LeftEval, Plan
from gateval.domain.plan.planned_eval import LeftFixture, PlannedEval
from gateval.domain.planning.narrowing import refuse_names
from gateval.errors import UsageError

_NAMED = 8


class Pick(Value):
    """Which Agents, Evals and fixtures to look at; empty means all. A fixture has to fit each.

    The name of a template with cases stands for all of them. `failed` are pairs of Eval and fixture
    that did not pass in an earlier run; None if nobody asked for these.
    """

    agents: tuple[str, ...] = ()
    evals: tuple[str, ...] = ()
    fixtures: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All names that were asked for."""
        return (*self.agents, *self.evals, *self.fixtures)

    def keeps(self, planned: PlannedEval, fixture: Fixture) -> bool:
        """Whether this fixture of this Eval is looked at."""
        return (
            (not self.agents or planned.agent in self.agents)
            and (not self.evals or planned.own_name in self.evals)
            and (not self.fixtures or not {fixture.name, fixture.family}.isdisjoint(self.fixtures))
            and (self.failed is None or (planned.own_name, fixture.name) in self.failed)
        )


ALL = Pick()


def refuse_unknown_names(pick: Pick, plan: Plan, head: Catalogue) -> None:
    """Raise `UsageError` for a name that neither head nor the plan has."""
    fixtures = (*head.fixtures, *(fixture for one in plan.evals for fixture in one.fixtures))
    evals = {one.name for one in head.evals} | {one.own_name for one in plan.evals}
    cases = {one.name for one in fixtures} | {one.family for one in fixtures if one.family}
    refuse_names("Agent", pick.agents, sorted({one.name for one in head.agents}))
    refuse_names("Eval", pick.evals, sorted(evals))
    refuse_names("fixture", pick.fixtures, sorted(cases))


def picked(plan: Plan, pick: Pick, head: Catalogue) -> Plan:
    """Return the plan with what was picked, and with what is left out by name.

    Where nothing is to be evaluated, nothing is left out. Raises `UsageError` for an unknown name,
    and when the change calls for nothing of what was picked.
    """
    if pick == ALL:
        return plan
    refuse_unknown_names(pick, plan, head)
    if plan.nothing:
        return plan
    kept = tuple(_parts(plan.evals, pick))
    if not kept:
        waiting = " and ".join(
            one.eval
            for one in plan.after_merge
            if one.eval in pick.evals or not {*one.named}.isdisjoint(pick.fixtures)
        )
        sealed = f" What is new in {waiting} is sealed and first runs after the merge." * bool(
            waiting
        )
        raise UsageError(
            f"The change calls for nothing of what was asked for.{sealed}",
            hint="`gateval plan` shows what it calls for; `gateval run EVAL --fixture NAME` runs "
            "anything, without a comparison.",
        )
    names, agents = {one.name for one in kept}, {one.agent for one in kept}
    left = tuple(
        LeftEval(name=one.own_name, fixtures=len(one.own_fixtures))
        for one in plan.evals
        if one.name not in names and one.own_fixtures
    )
    warnings = (*_sentences(kept, left), *_gone(plan, pick), *plan.warnings)
    return plan.model_copy(
        update={
            "evals": kept,
            "agents": tuple(agent for agent in plan.agents if agent.name in agents),
            "left_out": left,
            "warnings": warnings,
        }
    )


def _parts(evals: Sequence[PlannedEval], pick: Pick) -> Iterator[PlannedEval]:
    for planned in evals:
        names = {one.name for one in planned.fixtures if pick.keeps(planned, one)}
        if len(names) == len(planned.fixtures):
            yield planned
        elif names:
            yield _part(planned, names)


def _part(planned: PlannedEval, names: set[str]) -> PlannedEval:
    """Return the Eval with these fixtures. What all together would say cannot be said."""
    bar = planned.bar
    if bar is not None:
        reused = tuple(name for name in bar.reused if name in names)
        bar = bar.model_copy(update={"reused": reused})
    return planned.model_copy(
        update={
            "fixtures": tuple(one for one in planned.fixtures if one.name in names),
            "left_out": tuple(
                LeftFixture(name=one.name, severity=one.severity)
                for one in planned.fixtures
                if one.name not in names
            ),
            "bar": bar,
            "compared": tuple(name for name in planned.compared if name in names),
            "added": tuple(name for name in planned.added if name in names),
            "standing": tuple(one for one in planned.standing if one.fixture in names),
            "broad_share": 0.0,
        }
    )


def _sentences(kept: Sequence[PlannedEval], left: Sequence[LeftEval]) -> Iterator[str]:
    """Yield what is left out, by name."""
    names = [f"{one.own_name}/{gone.name}" for one in kept for gone in one.left_out]
    names += [f"all of {one.name}" for one in left]
    names = list(dict.fromkeys(names))
    if names:
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        shown = ", ".join(names[:_NAMED])
        yield f"left out, though the change calls for them: {shown}{more}"


def _gone(plan: Plan, pick: Pick) -> Iterator[str]:
    """Yield what did not pass before and is not called for any more."""
    here = {(one.own_name, fixture.name) for one in plan.evals for fixture in one.fixtures}
    gone = [f"{evaluation}/{name}" for evaluation, name in pick.failed or ()
            if (evaluation, name) not in here]  # fmt: skip
    if gone:
        more = f" and {len(gone) - _NAMED:,} more" if len(gone) > _NAMED else ""
        shown = ", ".join(gone[:_NAMED])
        yield f"did not pass before, and the change does not call for it now: {shown}{more}"
