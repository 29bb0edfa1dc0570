"""What a change changed for the models of an Agent: what they are offered, head beside base.

Only what all trials of a side share is compared: the rest is of the question, not of the Agent.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pydantic import Field

from gateval.domain.base import Name, Value, canonical_json
from gateval.domain.trials.model_call import ToolDefinition
from gateval.domain.trials.offer import ModelOffer
from gateval.domain.trials.trial import Side, Trial

_COMPARED = 2_000
"""Characters of a tool's words that are compared to tell whether it was renamed."""

_ALIKE = 0.6
"""How alike two tools are, 0 to 1, of which one is taken for the other under a new name."""

_RENAMED = 20
"""New tools among which one that is gone is looked for."""

_TOKEN = 4
"""Characters of a token, about: providers count a whole request, not its system prompt."""


def in_both(one: ModelOffer, other: ModelOffer) -> ModelOffer:
    """Return what two trials share: a tool is the same where all that is said of it is."""
    theirs = {canonical_json(tool.model_dump()) for tool in other.tools}
    return ModelOffer(
        models=_shared(one.models, other.models),
        system=_shared(one.system, other.system),
        tools=tuple(tool for tool in one.tools if canonical_json(tool.model_dump()) in theirs),
        parameters=_shared(one.parameters, other.parameters),
    )


def _shared(ours: tuple[str, ...], theirs: tuple[str, ...]) -> tuple[str, ...]:
    if ours == theirs:
        return ours
    known = set(theirs)
    return tuple(one for one in ours if one in known)


class OfferChange(NamedTuple):
    """What is offered otherwise on head than on base, to the models of one Agent.

    `says` are sentences without a full stop; `removed` and `added` the lines of the system prompt.
    """

    agent: str
    says: tuple[str, ...]
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


def offer_change(agent: str, base: ModelOffer, head: ModelOffer) -> OfferChange | None:
    """Return what changed for the models of an Agent; None where nothing did."""
    if base == head:
        return None
    gone, new = _only(base.system, head.system), _only(head.system, base.system)
    says = (
        *_tools(base, head),
        *_named("model", base.models, head.models),
        *_named("parameter", base.parameters, head.parameters),
        *_prompt(base, head, moved=not gone and not new),
    )
    return OfferChange(agent=agent, says=says, removed=gone, added=new) if says else None


def _only(ours: tuple[str, ...], theirs: tuple[str, ...]) -> tuple[str, ...]:
    known = set(theirs)
    return tuple(one for one in ours if one not in known)


def _tools(base: ModelOffer, head: ModelOffer) -> Iterator[str]:
    """Tell of tools: renamed are the most alike of those that are gone and new, if much is."""
    old, new = ({tool.name: tool for tool in one.tools} for one in (base, head))
    came = [name for name in new if name not in old]
    for name in old:
        if name in new:
            if old[name] != new[name]:
                yield f'tool "{name}" has another {_differs(old[name], new[name])}'
            continue
        like = {other: _likeness(old[name], new[other]) for other in came[:_RENAMED]}
        best = max(like, key=lambda other: like[other], default="")
        if best and like[best] >= _ALIKE:
            came.remove(best)
            yield f'tool "{name}" is now "{best}"'
        else:
            yield f'tool "{name}" is gone'
    yield from (f'tool "{name}" is new' for name in came)


def _differs(old: ToolDefinition, new: ToolDefinition) -> str:
    schema, description = old.input_schema != new.input_schema, old.description != new.description
    return " and another ".join(
        word for word, other in (("description", description), ("schema", schema)) if other
    )


def _likeness(old: ToolDefinition, new: ToolDefinition) -> float:
    """Return how alike two tools are but for their names, 0 to 1."""
    if old.input_schema == new.input_schema and old.description == new.description:
        return 1.0
    ours, theirs = (f"{one.description}\n{canonical_json(one.input_schema)}" for one in (old, new))
    return difflib.SequenceMatcher(None, ours[:_COMPARED], theirs[:_COMPARED]).ratio()


def _named(what: str, base: tuple[str, ...], head: tuple[str, ...]) -> Iterator[str]:
    gone, new = _only(base, head), _only(head, base)
    if len(gone) == len(new) == 1:
        yield f'{what} "{gone[0]}" is now "{new[0]}"'
        return
    yield from (f'{what} "{one}" is gone' for one in gone)
    yield from (f'{what} "{one}" is new' for one in new)


def _prompt(base: ModelOffer, head: ModelOffer, *, moved: bool) -> Iterator[str]:
    if base.system == head.system:
        return
    if moved:
        yield "the lines of the system prompt stand in another order"
        return
    old, new = (sum(map(len, one.system)) + len(one.system) for one in (base, head))
    tokens = round(abs(new - old) / _TOKEN)
    more = f"about {tokens:,} tokens {'more' if new > old else 'less'} system prompt"
    yield more if tokens else "another system prompt, about as long"


class SharedOffer(Value):
    """What the models of an Agent are offered in each of so many trials of one side."""

    agent: Name
    side: Side
    trials: int = Field(ge=1)
    offer: ModelOffer


class OfferCollector:
    """Keeps, of each Agent and side, what all trials until now share.

    `agents` are the names of the Agents by Eval, without sealed Evals: of these nothing is told.
    """

    def __init__(self, agents: Mapping[str, str]) -> None:
        self._agents = agents
        self._found: dict[tuple[str, Side], SharedOffer] = {}

    def take(self, trial: Trial) -> Trial:
        """Return the trial without what its models were offered, which is kept here."""
        if trial.trace is None or trial.trace.offered is None:
            return trial
        agent, offer = self._agents.get(trial.key.eval), trial.trace.offered
        if agent is not None:
            side = trial.key.side
            self.add([SharedOffer(agent=agent, side=side, trials=1, offer=offer)])
        trace = trial.trace.model_copy(update={"offered": None})
        return trial.model_copy(update={"trace": trace})

    def add(self, offers: Iterable[SharedOffer]) -> None:
        """Take what other trials share."""
        for new in offers:
            known = self._found.get((new.agent, new.side))
            shared = new
            if known is not None:
                trials, offer = known.trials + new.trials, in_both(known.offer, new.offer)
                shared = new.model_copy(update={"trials": trials, "offer": offer})
            self._found[new.agent, new.side] = shared

    def found(self) -> tuple[SharedOffer, ...]:
        """Return what is shared, by Agent and side."""
        return tuple(self._found[key] for key in sorted(self._found))


def offer_changes(offers: Iterable[SharedOffer]) -> tuple[OfferChange, ...]:
    """Return what changed for the models of each Agent that was seen on both sides.

    A system prompt is compared where each side has two trials: of one, nobody knows which part of
    it is of the question.
    """
    sides: dict[str, dict[Side, SharedOffer]] = {}
    for one in offers:
        sides.setdefault(one.agent, {})[one.side] = one
    found = []
    for name, seen in sides.items():
        if len(seen) < len(Side):
            continue
        head, base = seen[Side.HEAD], seen[Side.BASE]
        new, old = head.offer, base.offer
        if min(head.trials, base.trials) < 2:
            new = new.model_copy(update={"system": old.system})
        found.append(offer_change(name, old, new))
    return tuple(one for one in found if one is not None)
