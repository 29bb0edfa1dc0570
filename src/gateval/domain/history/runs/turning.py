"""Since when an Eval of the default branch fails: between which commits it got worse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gateval.domain.base import Value
from gateval.domain.history.runs.record import RunEval, RunRecord
from gateval.domain.history.runs.status import PULL_REQUESTS
from gateval.domain.statistics.fisher import fisher
from gateval.domain.verdicts import GateVerdict

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
