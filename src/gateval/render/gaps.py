"""What was not measured, and why: trials with the same reason are one gap."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gateval.domain.trial import Cause, Outcome, Side, Trial
from gateval.render.facts import FixtureFacts, Standing


class Gap(NamedTuple):
    """Trials of one Agent on one side that say nothing, all for the same reason.

    `cause` is None for planned trials that never ran. `detail` holds the command and the last
    lines of its output. `where` names the fixtures as `eval/fixture`. `silent` says that head
    gives no answer on at least one of them where base does.
    """

    agent: str
    side: Side
    cause: Cause | None
    reason: str
    detail: tuple[str, ...]
    where: tuple[str, ...]
    trials: int
    silent: bool


_Key = tuple[str, Side, Cause | None, str, tuple[str, ...]]


def find_gaps(facts: Iterable[FixtureFacts]) -> tuple[Gap, ...]:
    """Return all gaps, head's first, in the plan's order."""
    found: dict[_Key, list[FixtureFacts]] = {}
    for fact in facts:
        for key, count in _gaps_of(fact):
            found.setdefault(key, []).extend([fact] * count)
    gaps = (_gap(key, where) for key, where in found.items())
    return tuple(sorted(gaps, key=lambda gap: gap.side is Side.BASE))


def _gaps_of(fact: FixtureFacts) -> Iterable[tuple[_Key, int]]:
    agent = fact.planned.agent
    for trial in (*fact.head, *fact.base):
        if trial.outcome in {Outcome.ERROR, Outcome.SKIP}:
            yield (agent, trial.key.side, _cause(trial), trial.reason, trial.detail), 1
    if fact.compared.head.missing:
        yield (agent, Side.HEAD, None, "", ()), fact.compared.head.missing
    if fact.compared.base is not None and fact.compared.base.missing:
        yield (agent, Side.BASE, None, "", ()), fact.compared.base.missing


def _cause(trial: Trial) -> Cause:
    return trial.cause or Cause.GATE


def _gap(key: _Key, facts: list[FixtureFacts]) -> Gap:
    agent, side, cause, reason, detail = key
    where = dict.fromkeys(f"{fact.planned.name}/{fact.fixture.name}" for fact in facts)
    silent = side is Side.HEAD and any(fact.standing is Standing.SILENT for fact in facts)
    return Gap(agent, side, cause, reason, detail, tuple(where), len(facts), silent)
