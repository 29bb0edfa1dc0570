"""How Evals went from run to run: trends, turning points, flakiness, and what is due."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from gateval.domain.base import Value
from gateval.domain.history.run_record import RunEval, RunFixture, RunRecord
from gateval.domain.history.status import PULL_REQUESTS
from gateval.domain.results.averages import ScorerAverage
from gateval.domain.statistics.design import FIXTURES, design, fisher, looks
from gateval.domain.statistics.walk import expected, wilson_rate
from gateval.domain.text import listing
from gateval.domain.verdicts import GateVerdict, Score, score_of


class Point(Value):
    """One run of an Eval: its score and limits (about 95 %) in [0, 1], None if not measured.

    `regressed` names the fixtures that a comparison with an earlier commit found regressed (`*` for
    all together); `changed` says that the Agent is another one than in the run before. `passed_on`
    is the commit of the run before if that passed and this one fails. `averages` are those of an
    experiment's scorers. Of a score that was measured in part, `most` is the highest that it can
    be, `runs` are those that say something, and of how many.
    """

    at: str
    revision: str
    run: str
    event: str
    score: float | None
    low: float | None
    high: float | None
    threshold: float | None = None
    verdict: str
    passing: int | None
    total: int
    regressed: tuple[str, ...] = ()
    base: str = ""
    changed: bool = False
    passed_on: str = ""
    averages: tuple[ScorerAverage, ...] = ()
    most: float | None = None
    runs: tuple[int, int] = (0, 0)

    @property
    def whole_score(self) -> Score:
        """The score, with how far it may reach where it was measured in part."""
        return score_of(self.score, self.most, *self.runs)

    @property
    def said(self) -> str:
        """What became of it beside its score, in words."""
        names = ["all together" if one == ALL else one for one in self.regressed]
        if names:
            where = f" since {self.base[:7]}" if self.base else ""
            return f"regressed{where}: {listing(names, 4)}"
        if self.passed_on:
            return f"fails; passed on {self.passed_on[:7]}"
        if self.verdict not in {"pass", "fail"}:
            return "not measured"
        said = ["fails"] if self.verdict == "fail" else []
        return ", ".join([*said, *(["agent changed"] if self.changed else [])])


ALL = "*"


class ScorerSeries(NamedTuple):
    """The averages of one scorer in each set, the oldest first, None where it has none."""

    scorer: str
    means: tuple[float | None, ...]

    @property
    def last(self) -> float | None:
        """The newest that is known."""
        return next((one for one in reversed(self.means) if one is not None), None)

    @property
    def delta(self) -> float | None:
        """The difference of the last set to the one before."""
        before, now = ((None, *self.means)[-2:]) if self.means else (None, None)
        return None if before is None or now is None else now - before


def scorer_series(points: Sequence[Point]) -> tuple[ScorerSeries, ...]:
    """Return the averages of each scorer, those of the newest set first."""
    names = dict.fromkeys(a.scorer for point in reversed(points) for a in point.averages)
    means = [{one.scorer: one.mean for one in point.averages} for point in points]
    return tuple(ScorerSeries(name, tuple(each.get(name) for each in means)) for name in names)


def trend(records: Iterable[RunRecord], name: str, *, limit: int) -> tuple[Point, ...]:
    """Return the last `limit` runs of an Eval, the oldest first; `records` come newest first.

    Runs of pull requests are left out: they measure what somebody proposes.
    """
    ours = (
        (record, run)
        for record in records
        if record.event not in PULL_REQUESTS and (run := record.eval(name)) is not None
    )
    points: list[Point] = []
    before: tuple[RunRecord, RunEval] | None = None
    for record, run in reversed(list(islice(ours, limit))):
        turned = before and before[1].verdict is GateVerdict.PASS and _fails(run)
        names = [one.fixture for one in run.worst_first if one.regressed]
        point = Point(
            at=record.at,
            revision=record.commit,
            run=record.id,
            event=record.event,
            score=run.low,
            low=run.limits and run.limits[0],
            high=run.limits and max(run.limits[1], run.high or 0.0),
            threshold=run.threshold,
            verdict=run.verdict.value,
            passing=run.counted[0],
            total=run.total,
            regressed=(*names, *([ALL] if run.slipped else [])),
            base=record.base,
            changed=before is not None and before[1].closure != run.closure,
            passed_on=before[0].commit if before and turned else "",
            averages=run.averages,
            most=run.high,
            runs=run.runs,
        )
        points.append(point)
        before = record, run
    return tuple(points)


LOOKED_AT = 20
"""Passing runs before, whose trials are held against those of now."""

NAMED = 5


class Worse(Value):
    """A fixture that fails now: passes of trials before and now, and the chance of that alone.

    `p_value` is that of Fisher's one-sided exact test.
    """

    fixture: str
    before: str
    now: str
    p_value: float


class Turn(Value):
    """An Eval that passed on `good` and fails since `bad`, both with the moment of their run.

    `same_agent` says that what the Agent depends on is equal on both.
    """

    eval: str
    good: str
    good_at: str
    bad: str
    bad_at: str
    same_agent: bool
    worse: tuple[Worse, ...] = ()

    @property
    def sentence(self) -> str:
        """All of it for a person."""
        shown = f"{self.eval} passed on {self.good[:7]} ({self.good_at[:10]}) and fails since "
        shown += f"{self.bad[:7]} ({self.bad_at[:10]})"
        if self.worse:
            each = [
                f"{one.fixture} passed {one.before} before, {one.now} now (p = {one.p_value:.2g})"
                for one in self.worse[:NAMED]
            ]
            shown += f": {'; '.join(each)}"
        if self.same_agent:
            return f"{shown}. The Agent is the same on both: a model, a tool or the judge changed."
        return f"{shown}. What changed: git log {self.good[:12]}..{self.bad[:12]}"


def turns(record: RunRecord, earlier: Iterable[RunRecord]) -> tuple[Turn, ...]:
    """Return since when each Eval fails that fails in `record`; `earlier` comes newest first.

    Nothing of an Eval that never passed, as far as is known. Runs of pull requests do not count.
    """
    known = [one for one in earlier if one.event not in PULL_REQUESTS and one.id != record.id]
    found = (_turn(run, record, known) for run in record.evals if _fails(run))
    return tuple(one for one in found if one is not None)


def _turn(run: RunEval, record: RunRecord, earlier: Sequence[RunRecord]) -> Turn | None:
    first = record
    for number, one in enumerate(earlier):
        before = one.eval(run.eval)
        if before is None or before.verdict in {GateVerdict.INCOMPLETE, GateVerdict.INCONCLUSIVE}:
            continue
        if _fails(before):
            first = one
            continue
        start = first.eval(run.eval) or run
        return Turn(
            eval=run.eval,
            good=one.commit or "0" * 40,
            good_at=one.at,
            bad=first.commit or "0" * 40,
            bad_at=first.at,
            same_agent=before.closure == start.closure,
            worse=tuple(_worse(run, earlier[number:])),
        )
    return None


def _worse(run: RunEval, before: Sequence[RunRecord]) -> Iterable[Worse]:
    passing = [one for r in before if (one := r.eval(run.eval)) and not _fails(one)][:LOOKED_AT]
    for fixture in run.fixtures:
        if fixture.passes == fixture.measured:
            continue
        old = [
            one
            for earlier in passing
            for one in earlier.fixtures
            if (one.fixture, one.digest) == (fixture.fixture, fixture.digest)
        ]
        passes, trials = sum(one.passes for one in old), sum(one.measured for one in old)
        if trials:
            yield Worse(
                fixture=fixture.fixture,
                before=f"{passes} of {trials}",
                now=f"{fixture.passes} of {fixture.measured}",
                p_value=fisher(passes, trials, fixture.passes, fixture.measured),
            )


def _fails(run: RunEval) -> bool:
    return run.verdict is GateVerdict.FAIL


STEADY = 0.99
LEAST_TRIALS = 3
MOST_LOOKED_AT = 1_000


class Wavering(Value):
    """One fixture: `passes` of `trials`, the limits of its rate (about 95 %), and who wavers.

    `saves` is how many trials of both sides a comparison of an unchanged agent would save if the
    fixture passed in `STEADY` of its trials.
    """

    eval: str
    fixture: str
    passes: int
    trials: int
    low: float
    high: float
    who: str
    saves: float
    asked_again: int = 0
    wavered: int = 0


class _Seen:
    def __init__(self, run: RunEval, fixture: RunFixture) -> None:
        self.key = run.setting, fixture.digest
        self.fixtures = len(run.fixtures)
        self.reps = max(1, len(fixture.trials))
        self.passes = self.trials = self.again = self.wavered = 0

    def add(self, fixture: RunFixture) -> None:
        if self.trials < MOST_LOOKED_AT:
            self.passes += fixture.passes
            self.trials += fixture.measured
            self.again += fixture.asked_again
            self.wavered += fixture.wavered


def wavering(records: Iterable[RunRecord], name: str | None = None) -> tuple[Wavering, ...]:
    """Return the fixtures that did not always end alike, what costs most first.

    `records` come newest first; trials count together as long as Agent, fixture, judge and Gateval
    are those of the newest run.
    """
    seen: dict[tuple[str, str], _Seen] = {}
    for record in records:
        for run in record.evals:
            for fixture in run.fixtures if name in {None, run.eval} else ():
                one = seen.setdefault((run.eval, fixture.fixture), _Seen(run, fixture))
                if one.key == (run.setting, fixture.digest):
                    one.add(fixture)
    found = [
        _wavering(*names, one)
        for names, one in seen.items()
        if one.trials >= LEAST_TRIALS and (0 < one.passes < one.trials or one.wavered > 0)
    ]
    return tuple(sorted(found, key=lambda one: (-one.saves, one.eval, one.fixture)))


def _wavering(evaluation: str, fixture: str, one: _Seen) -> Wavering:
    rate = one.passes / one.trials
    low, high = wilson_rate(rate, one.trials)
    return Wavering(
        eval=evaluation,
        fixture=fixture,
        passes=one.passes,
        trials=one.trials,
        low=low,
        high=high,
        who=_who(one),
        saves=max(0.0, round(_costs(one, rate) - _costs(one, STEADY), 2)),
        asked_again=one.again,
        wavered=one.wavered,
    )


def _costs(one: _Seen, rate: float) -> float:
    rule = design(looks(min(one.reps, 14)), FIXTURES / max(1, one.fixtures))
    return expected(rule, rate, rate).trials


def _who(one: _Seen) -> str:
    """The judge, where it changed its mind about the same output; else the agent."""
    if not one.wavered:
        return "agent"
    told = f"judge ({one.wavered} of {one.again} repeated judgements changed)"
    return told if 2 * one.wavered >= one.again else f"agent and {told}"


OF_THE_BRANCH = ("push", "schedule")


class DueEval(Value):
    """An Eval with a schedule: `since` is the moment that was missed, empty if none was.

    Several missed moments are one: it is run once. `following` is the next one.
    """

    name: str
    schedule: str
    time_zone: str
    due: bool
    since: str = ""
    last_run_at: str = ""
    following: str = ""


class Moments(Value):
    """The newest moment that a schedule names up to now, and the first one after it."""

    last: datetime | None
    following: datetime | None


def last_runs(records: Iterable[RunRecord], now: str) -> Mapping[str, str]:
    """Return when each Eval was run last on the default branch; `records` come newest first.

    A run after `now` (ISO 8601) is none: whoever may push could write one, and nothing would be
    due until then.
    """
    found: dict[str, str] = {}
    for record in records:
        if record.event in OF_THE_BRANCH and record.at <= now:
            for run in record.evals:
                found.setdefault(run.eval, record.at)
    return found


def measured_lately(
    records: Iterable[RunRecord], commit: str, *, since: str, now: str
) -> Mapping[str, str]:
    """Return when runs on the default branch measured each Eval on this commit.

    Only moments (ISO 8601) between `since` and `now` count; the newest is returned. `records` come
    newest first.
    """
    return last_runs((one for one in records if one.commit == commit and since <= one.at), now)


def due_eval(name: str, schedule: str, zone: str, moments: Moments, last_run: str) -> DueEval:
    """Return whether an Eval is due; one that never ran is."""
    missed = _iso(moments.last)
    due = not last_run or (missed != "" and last_run < missed)
    return DueEval(
        name=name,
        schedule=schedule,
        time_zone=zone,
        due=due,
        since=missed if due else "",
        last_run_at=last_run,
        following=_iso(moments.following),
    )


def _iso(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else ""
