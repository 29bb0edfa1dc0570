"""Gaps in what was measured, and why: trials with the same reason are one gap."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gateval.domain.plan.plan import Plan
from gateval.domain.trials.judge_verdict import Verdict
from gateval.domain.trials.trial import Cause, Side, Trial
from gateval.render.report.facts import FixtureFacts, broken, told
from gateval.render.report.reproduce import one_fixture_command
from gateval.render.report.words.kinds import words_of


class Gap(NamedTuple):
    """Trials of one Agent on one side that say nothing, all for the same reason.

    `cause` is None for planned trials that never ran; `reason` is then why the run ended. `detail`
    holds the command and the last lines of its output. `verdict` is what the judge said in the
    first of them, if it blamed what it could not prove. `where` names the fixtures as
    `eval/fixture`, `cases` says what these are called; `first` is the first of them.
    """

    agent: str
    side: Side
    cause: Cause | None
    reason: str
    detail: tuple[str, ...]
    verdict: Verdict | None
    where: tuple[str, ...]
    cases: str
    trials: int
    first: FixtureFacts

    def again(self, plan: Plan) -> str:
        """The command that measures just the first fixture again; empty where another run of all
        is the next step.
        """
        if self.side is Side.BASE or self.cause not in (Cause.CANDIDATE, Cause.CHECK):
            return ""
        return one_fixture_command(plan, self.first)


class _Silence(NamedTuple):
    """One trial without a measurement; None for one that never ran."""

    fact: FixtureFacts
    side: Side
    trial: Trial | None
    cut: str = ""

    @property
    def key(self) -> tuple[str, Side, Cause | None, str, tuple[str, ...]]:
        """What trials of one gap share."""
        if self.trial is None:
            return (self.fact.planned.agent, self.side, None, self.cut, ())
        cause = self.trial.cause or Cause.GATE
        return (self.fact.planned.agent, self.side, cause, self.trial.reason, self.trial.detail)


def find_gaps(facts: Iterable[FixtureFacts], cut: str = "") -> tuple[Gap, ...]:
    """Return all gaps, head's first, in the plan's order; what was printed alike is told once.

    `cut` says why trials did not run.
    """
    found: dict[object, list[_Silence]] = {}
    for fact in facts:
        for silence in _silences(fact, cut):
            found.setdefault(silence.key, []).append(silence)
    gaps = sorted(map(_gap, found.values()), key=lambda gap: gap.side is Side.BASE)
    told = {(one.agent, one.detail) for one in gaps if one.side is Side.HEAD}
    return tuple(
        one._replace(detail=())
        if one.side is Side.BASE and (one.agent, one.detail) in told
        else one
        for one in gaps
    )


def _silences(fact: FixtureFacts, cut: str) -> Iterable[_Silence]:
    for trial in (*fact.head, *fact.base):
        unanswered = fact.compared.silent and not fact.compared.no_answer and not trial.answered
        if trial.passed is None or unanswered:
            yield _Silence(fact, trial.key.side, trial)
    yield from [_Silence(fact, Side.HEAD, None, cut)] * fact.compared.missing
    yield from [_Silence(fact, Side.BASE, None, cut)] * fact.compared.missing_base


def _gap(silences: list[_Silence]) -> Gap:
    agent, side, cause, reason, detail = silences[0].key
    where = dict.fromkeys(f"{s.fact.planned.shown_name}/{s.fact.fixture.name}" for s in silences)
    said = [one.verdict for one in told(broken(silences[0].trial)) if one.verdict]
    return Gap(
        agent,
        side,
        cause,
        reason,
        detail,
        said[0] if said else None,
        tuple(where),
        words_of(one.fact.planned.kind for one in silences).cases,
        len(silences),
        silences[0].fact,
    )
