"""Which fixtures pass now and then, who wavers, and what a steadier fixture would save."""

from __future__ import annotations

from collections.abc import Iterable

from gateval.domain.base import Value
from gateval.domain.history.runs.record import RunEval, RunFixture, RunRecord
from gateval.domain.statistics.design import design
from gateval.domain.statistics.estimates.interval import wilson_rate
from gateval.domain.statistics.looks import looks
from gateval.domain.statistics.power import expected
from gateval.domain.statistics.shares import FIXTURES

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
    found = [_wavering(*names, one) for names, one in seen.items() if _wavers(one)]
    return tuple(sorted(found, key=lambda one: (-one.saves, one.eval, one.fixture)))


def _wavers(one: _Seen) -> bool:
    return one.trials >= LEAST_TRIALS and (0 < one.passes < one.trials or one.wavered > 0)


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
