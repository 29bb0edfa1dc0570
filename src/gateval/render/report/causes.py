"""Fixtures that fail alike, told once: a change that breaks one thing breaks it everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gateval.domain.trials.trial import Assessment
from gateval.render.report.facts import FixtureFacts

FEW = 12
"""Causes that a reader takes in. Where there are more, fixtures are put together more coarsely."""


class FailureGroup(NamedTuple):
    """Fixtures that fail alike, worst first. `alike` says how: empty for equally."""

    facts: Sequence[FixtureFacts]
    alike: str = ""

    @property
    def first(self) -> FixtureFacts:
        """The fixture that is told in full."""
        return self.facts[0]

    @property
    def others(self) -> Sequence[FixtureFacts]:
        """Those of which it is enough to say that they fail alike."""
        return self.facts[1:]

    @property
    def agents(self) -> Sequence[str]:
        """The Agents that fail so."""
        return list(dict.fromkeys(fact.planned.agent for fact in self.facts))


def causes(facts: Sequence[FixtureFacts]) -> Sequence[FailureGroup]:
    """Put facts together that fail for the same reason, in their order.

    Those of one Agent; with more than `FEW` reasons, of all Agents. With more still, those with the
    same expectation; then those whose expectations differ in their values only; then those in which
    the same types of assertions fail.
    """
    found: Sequence[Sequence[FixtureFacts]] = ()
    for level in _LEVELS:
        for by_agent in (True, False):
            found = _grouped(facts, level, by_agent=by_agent)
            if len(found) <= FEW:
                return [FailureGroup(mine, _alike(mine)) for mine in found]
    return [FailureGroup(mine, _alike(mine)) for mine in found]


def _grouped(
    facts: Sequence[FixtureFacts], level: _Level, *, by_agent: bool
) -> Sequence[Sequence[FixtureFacts]]:
    groups: dict[object, list[FixtureFacts]] = {}
    for fact in facts:
        agent = fact.planned.agent if by_agent else ""
        groups.setdefault((agent, _signature(fact, level)), []).append(fact)
    return list(groups.values())


def _signature(fact: FixtureFacts, level: _Level) -> object:
    if not fact.broken:
        return fact.why
    return tuple(sorted({(one.type, level.key(one)) for one in fact.broken}))


def _alike(facts: Sequence[FixtureFacts]) -> str:
    """Return how much these have in common."""
    for level in _LEVELS:
        if len({_signature(fact, level) for fact in facts}) == 1:
            return level.alike
    return ""


def _expected(assessment: Assessment) -> str:
    """What was expected, without what was seen; of a judge, the rules that it found broken."""
    if assessment.verdict is not None:
        return "; ".join(sorted({one.rule for one in assessment.verdict.violations}))
    return assessment.reason.partition(", saw ")[0]


def _shape(assessment: Assessment) -> str:
    return re.sub(r'"[^"]*"|`[^`]*`|/.*/|\d+', "\N{HORIZONTAL ELLIPSIS}", _expected(assessment))


class _Level(NamedTuple):
    """How much has to be equal, and that in words."""

    alike: str
    key: Callable[[Assessment], str]


_LEVELS = (
    _Level("", lambda one: one.reason),
    _Level("the same is expected, and something else seen", _expected),
    _Level("the same is expected, with other values", _shape),
    _Level("the same types of assertions fail", lambda _: ""),
)
