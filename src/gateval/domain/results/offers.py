"""What a change changed for the models of an Agent: what they are offered, head beside base.

A change is what all trials of one side are offered, and no trial of the other: the rest is of the
question, or of chance.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from gateval.domain.base import Name, Positive, Value, canonical_json
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import kept_apart
from gateval.domain.trials.model_call import TOOLS_LIMIT, ModelOffer, ToolDefinition
from gateval.domain.trials.trial import Side, Trial

LINES_KEPT = 500
"""Lines kept of what prompts hold in some trials only; with more, nothing is said of prompts."""

_COMPARED = 2_000
"""Characters of a tool's words that are compared to tell whether it was renamed."""

_ALIKE = 0.6
"""How alike two tools are, 0 to 1, of which one is taken for the other under a new name."""

_RENAMED = 20
"""New tools among which one that is gone is looked for."""

_TOKEN = 4
"""Characters of a token, about: providers count a whole request, not its system prompt."""


_SHOWN = 60
"""Characters of a parameter's value that are told."""

_TOLD = 2
"""Trials from which on their number says nothing more of what is shared."""


class SharedOffer(Value):
    """What the models of an Agent are offered in each of so many trials of one side.

    `sometimes` is what they are offered in some of these: an agent may hand on or not, and a prompt
    may hold what is of the question. Of its `system`, `LINES_KEPT` lines.
    """

    agent: Name
    side: Side
    trials: Positive
    offer: ModelOffer
    sometimes: ModelOffer = ModelOffer()


def joined(one: SharedOffer, other: SharedOffer) -> SharedOffer:
    """Return what the trials of both are offered; a tool is the same where all of it is."""
    update: dict[str, object] = {"trials": one.trials + other.trials}
    if one.offer != other.offer or other.sometimes != ModelOffer():
        parts = (one.offer, other.offer, one.sometimes, other.sometimes)
        models, some_models = _split([of.models for of in parts])
        system, some_lines = _split([of.system for of in parts])
        parameters, some_parameters = _split([of.parameters for of in parts])
        known = {canonical_json(tool.model_dump()): tool for of in parts for tool in of.tools}
        named = [[canonical_json(tool.model_dump()) for tool in of.tools] for of in parts]
        tools, some_tools = ([known[each] for each in found] for found in _split(named))
        update["offer"] = ModelOffer(
            models=models, system=system, tools=tuple(tools), parameters=parameters
        )
        update["sometimes"] = ModelOffer(
            models=some_models,
            system=some_lines[:LINES_KEPT],
            tools=tuple(some_tools)[:TOOLS_LIMIT],
            parameters=some_parameters,
        )
    return one.replace(**update)


def _split(parts: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what the first two hold both, and what else any holds."""
    first, second = parts[0], set(parts[1])
    every = tuple(each for each in first if each in second)
    known = set(every)
    return every, tuple(dict.fromkeys(each for of in parts for each in of if each not in known))


def offer_changes(offers: Iterable[SharedOffer]) -> Mapping[str, tuple[str, ...]]:
    """Return, by Agent, sentences without a full stop on what changed for its models.

    Only what all trials of one side are offered, and none of the other, is a change: what an agent
    does at random is none. Agents that were not seen on both sides are left out.
    """
    sides: dict[str, dict[Side, SharedOffer]] = {}
    for one in offers:
        sides.setdefault(one.agent, {})[one.side] = one
    seen = ((name, of[Side.BASE], of[Side.HEAD]) for name, of in sides.items() if len(of) == 2)
    told = {
        name: (
            *_tools(base, head),
            *_named("model", *_changed(base, head, "models")),
            *_parameters(*_changed(base, head, "parameters")),
            *_prompt(base, head),
        )
        for name, base, head in seen
    }
    return {name: says for name, says in told.items() if says}


def _changed(
    base: SharedOffer, head: SharedOffer, part: Literal["models", "parameters", "system"]
) -> tuple[list[str], list[str]]:
    """Return what is gone, and what is new."""
    (old, of_old), (new, of_new) = (
        (getattr(of.offer, part), {*getattr(of.offer, part), *getattr(of.sometimes, part)})
        for of in (base, head)
    )
    return [one for one in old if one not in of_new], [one for one in new if one not in of_old]


def _tools(base: SharedOffer, head: SharedOffer) -> Iterator[str]:
    """Tell of tools: renamed are the most alike of those that are gone and new, if much is."""
    old, new = ({tool.name: tool for tool in of.offer.tools} for of in (base, head))
    of_old, of_new = ({tool.name for tool in of.sometimes.tools} for of in (base, head))
    came = [name for name in new if name not in old and name not in of_old]
    for name in old:
        if name in new:
            if old[name] != new[name]:
                yield f'tool "{name}" has another {_differs(old[name], new[name])}'
            continue
        if name in of_new:
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


def _named(what: str, gone: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    if len(gone) == len(new) == 1:
        yield f'{what} "{gone[0]}" is now "{new[0]}"'
        return
    yield from (f'{what} "{one}" is gone' for one in gone)
    yield from (f'{what} "{one}" is new' for one in new)


def _parameters(gone: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Tell of parameters, each its name and its value; a long value is only said to be another."""
    old, now = (_by_name(every) for every in (gone, new))
    for name, values in old.items():
        if len(values) == len(now.get(name, ())) == 1:
            yield _set_otherwise(name, values[0], now.pop(name)[0])
        else:
            yield from (f'parameter "{_shown(name, value)}" is gone' for value in values)
    for name, values in now.items():
        yield from (f'parameter "{_shown(name, value)}" is new' for value in values)


def _by_name(every: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in every:
        name, _, value = one.partition(" ")
        found.setdefault(name, []).append(value)
    return found


def _set_otherwise(name: str, old: str, new: str) -> str:
    if max(len(old), len(new)) > _SHOWN:
        return f'parameter "{name}" has another value'
    return f'parameter "{name} {old}" is now "{name} {new}"'


def _shown(name: str, value: str) -> str:
    return f"{name} {value}" if len(value) <= _SHOWN else name


def _prompt(base: SharedOffer, head: SharedOffer) -> Iterator[str]:
    """Tell of the system prompt; of one trial nobody knows which part of it is of the question."""
    full = any(len(of.sometimes.system) >= LINES_KEPT for of in (base, head))
    if full or min(base.trials, head.trials) < _TOLD:
        return
    gone, new = _changed(base, head, "system")
    if not gone and not new:
        if base.offer.system != head.offer.system and {*base.offer.system} == {*head.offer.system}:
            yield "the lines of the system prompt stand in another order"
        return
    more = sum(len(one) + 1 for one in new) - sum(len(one) + 1 for one in gone)
    tokens = round(abs(more) / _TOKEN)
    unit = "token" if tokens == 1 else "tokens"
    said = f"about {tokens:,} {unit} {'more' if more > 0 else 'less'} system prompt"
    yield said if tokens else "another system prompt, about as long"


class OfferCollector:
    """Keeps what models are offered, of each Agent and side.

    `agents` are the names of the Agents by Eval, without sealed Evals: of these nothing is told.
    """

    def __init__(self, agents: Mapping[str, str]) -> None:
        self._agents = agents
        self._found: dict[tuple[str, Side], SharedOffer] = {}
        self._new: set[tuple[str, Side]] = set()

    def take(self, trial: Trial) -> Trial:
        """Return the trial without what its models were offered, which is kept here."""
        if trial.trace is None or trial.trace.offered is None:
            return trial
        agent, offer = self._agents.get(trial.key.eval), trial.trace.offered
        if agent is not None:
            side = trial.key.side
            self.add([SharedOffer(agent=agent, side=side, trials=1, offer=offer)])
        trace = trial.trace.replace(offered=None)
        return trial.replace(trace=trace)

    def add(self, offers: Iterable[SharedOffer]) -> None:
        """Take what other trials are offered."""
        for new in offers:
            key = (new.agent, new.side)
            known = self._found.get(key)
            now = self._found[key] = joined(known, new) if known else new
            if known is None or known.trials < _TOLD or _parts(known) != _parts(now):
                self._new.add(key)

    def found(self) -> tuple[SharedOffer, ...]:
        """Return what is known, by Agent and side."""
        return tuple(self._found[key] for key in sorted(self._found))

    def news(self) -> tuple[SharedOffer, ...]:
        """Return what is known otherwise than when this was asked last, but for how many trials."""
        told, self._new = sorted(self._new), set()
        return tuple(self._found[key] for key in told)


def offer_collector(plan: Plan, known: Iterable[SharedOffer]) -> OfferCollector:
    """Return what takes in what models are offered in a run of `plan`, beside what is `known`."""
    apart = kept_apart(plan)
    found = OfferCollector({one.name: one.agent for one in plan.evals if one.name not in apart})
    found.add(known)
    return found


def _parts(one: SharedOffer) -> tuple[ModelOffer, ModelOffer]:
    return one.offer, one.sometimes
