"""Whether answers cost more on head than on base, or take longer.

Fixtures are paired, as everywhere: each one's mean over the planned repetitions on head, by that on
base. Repetitions that were added because something looked worse never count: they are selected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from statistics import fmean

from gateval.domain.base import Value
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.grouping import Grouped
from gateval.domain.statistics.estimates.ratio import Ratio, paired_ratio
from gateval.domain.trials.trial import Side, Trial

CHANCE = 0.05
"""P(any interval of a run misses its true ratio) is at most this, over all that have a limit."""


class Measure(StrEnum):
    """The subject of a rise."""

    COST = "cost"
    LATENCY = "latency"


class Unit(StrEnum):
    """What a rise is counted in; tokens where nobody knows the money."""

    USD = "US dollars"
    TOKENS = "tokens"
    SECONDS = "seconds"


class Rise(Value):
    """A measure of an Eval, head against base.

    `ratio` is None where nothing can be compared, and `unknown` says why. `zeros` counts the
    fixtures that cost nothing on one side alone, of which there is no ratio.
    """

    eval: str
    measure: Measure
    unit: Unit
    ratio: Ratio | None = None
    zeros: int = 0
    unknown: str = ""

    def over(self, limit: float) -> bool:
        """Whether more than chance puts it above a limit: its whole interval lies there."""
        return self.ratio is not None and (self.ratio.low or 0.0) > limit


def rises(plan: Plan, trials: Grouped) -> Iterator[Rise]:
    """Yield both measures of each Eval that is measured on two sides."""
    policy = plan.policy
    limits = {Measure.COST: policy.cost.max_ratio, Measure.LATENCY: policy.latency.max_ratio}
    compared = [one for one in plan.evals if Side.BASE in one.sides and one.bar is None]
    asked = sum(limit is not None for limit in limits.values()) * len(compared)
    level = 1 - CHANCE / max(1, asked)
    for planned in compared:
        pairs = _pairs(planned, trials)
        yield _cost(planned, pairs, level)
        yield _rise(planned, Measure.LATENCY, Unit.SECONDS, pairs, _seconds, level)


_UNANSWERED = "no fixture was answered on both sides"
_NOTHING = "no fixture took anything on both sides"

_Trials = Sequence[Trial]
_Pairs = Sequence[tuple[_Trials, _Trials]]


def _pairs(planned: PlannedEval, trials: Grouped) -> _Pairs:
    """Return the answered trials of base and head, of each fixture that has both."""
    found = []
    for fixture in planned.fixtures:
        sides = []
        for side in (Side.BASE, Side.HEAD):
            mine = trials.get((planned.measured_by(fixture.name), fixture.name, side), ())
            most = planned.execution.reps_per_fixture
            counted = [t for t in mine if t.key.repetition <= most and t.output is not None]
            sides.append(counted)
        if all(sides):
            found.append((sides[0], sides[1]))
    return found


def _cost(planned: PlannedEval, pairs: _Pairs, level: float) -> Rise:
    every = [trial for pair in pairs for side in pair for trial in side]
    if every and all(trial.usage.usd is not None for trial in every):
        found = _rise(planned, Measure.COST, Unit.USD, pairs, _usd, level)
        if found.ratio or found.zeros:
            return found
    if all(trial.usage.total is not None for trial in every):
        return _rise(planned, Measure.COST, Unit.TOKENS, pairs, _tokens, level)
    why = "nobody counted the tokens of all answers"
    return Rise(eval=planned.name, measure=Measure.COST, unit=Unit.TOKENS, unknown=why)


def _rise(
    planned: PlannedEval,
    measure: Measure,
    unit: Unit,
    pairs: _Pairs,
    amount: Callable[[Trial], float],
    level: float,
) -> Rise:
    means = [(fmean(map(amount, base)), fmean(map(amount, head))) for base, head in pairs]
    known = [(base, head) for base, head in means if base > 0 and head > 0]
    ratio = paired_ratio(known, level)
    return Rise(
        eval=planned.name,
        measure=measure,
        unit=unit,
        ratio=ratio,
        zeros=sum((base > 0) is not (head > 0) for base, head in means),
        unknown="" if ratio else _NOTHING if means else _UNANSWERED,
    )


def _usd(trial: Trial) -> float:
    return trial.usage.usd or 0.0


def _tokens(trial: Trial) -> float:
    return float(trial.usage.total or 0)


def _seconds(trial: Trial) -> float:
    return trial.own_seconds
