"""One fixture's trials taken through its design: what follows, its status, and the power.

kappa = (p_o - p_e) / (1 - p_e), with the observed and the expected share of agreement (Cohen 1960).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from math import atan, cos, exp, fsum, log, pi, sin, sqrt
from typing import Annotated, NamedTuple

from pydantic import Field

from gateval.domain.base import Value
from gateval.domain.statistics.design import (
    ESCALATION,
    Arrival,
    Design,
    Look,
    LookResult,
    arrivals,
    fisher,
    improvement,
    probability,
    step,
)

Outcomes = Sequence[bool | None]
"""Trials in the order of their repetitions: passed, failed, or None for one lost for good."""


class PassCount(Value):
    """Passes among the trials that were measured."""

    passes: Annotated[int, Field(ge=0)]
    trials: Annotated[int, Field(ge=0)]

    @property
    def rate(self) -> float:
        """The share of passes in [0, 1]; 0 without a trial."""
        return self.passes / self.trials if self.trials else 0.0


class Walk(Value):
    """Where a fixture stands.

    `look` is where it ended or, on `GO_ON`, up to where trials are to be made; the counts are those
    of the measured trials up to there.
    """

    step: LookResult
    look: Look
    base: PassCount
    head: PassCount

    @property
    def ended(self) -> bool:
        """Whether the rule wants no more trials."""
        return self.step is not LookResult.GO_ON


def walk(design: Design, base: Outcomes, head: Outcomes) -> Walk:
    """Return where `base` and `head` (stored trials first) lead; trials beyond the end are ignored.

    A lost trial counts as a pass of head or as a failure of base. That keeps the guarantee whatever
    made the trial get lost: the regions are monotone, so wherever the filled-up sequence goes on or
    regresses, the true one, had it been measured, goes on or has regressed, too. The chance of
    ever regressing is therefore at most that of complete trials, which is at most the share.
    """
    taken, look = LookResult.GO_ON, design.looks[0]
    for index, look in enumerate(design.looks):
        if len(base) < look.base or len(head) < look.head:
            break
        base_passes = sum(outcome is True for outcome in base[: look.base])
        head_passes = sum(outcome is not False for outcome in head[: look.head])
        taken = step(design, index, base_passes, head_passes)
        if taken is not LookResult.GO_ON:
            break
    return same_walk(taken, look, counted(base[: look.base]), counted(head[: look.head]))


@lru_cache(4_096)
def same_walk(step: LookResult, look: Look, base: PassCount, head: PassCount) -> Walk:
    """Return one object for equal ones: most fixtures go alike."""
    return Walk(step=step, look=look, base=base, head=head)


def counted(outcomes: Outcomes) -> PassCount:
    """Return the passes among those of `outcomes` that were measured."""
    measured = [outcome for outcome in outcomes if outcome is not None]
    return _passes(sum(measured), len(measured))


@lru_cache(4_096)
def _passes(passes: int, trials: int) -> PassCount:
    return PassCount(passes=passes, trials=trials)


FRESH = 3
"""Base trials made beside head without which nothing stored makes a fixture regressed.

Stored trials may be of a model as it was. To ask for fresh ones only takes blocks away, so the
bound on false ones holds as it is.
"""


def borne_out(fresh: PassCount, head: PassCount) -> bool:
    """Whether base, as it is now, does better than head does; never without a trial of each."""
    return bool(fresh.trials and head.trials) and fresh.rate > head.rate


SEEN = 0.8
"""The power at which a drop counts as one that is found."""


class TrialCost(Value):
    """Trials of each side for one fixture; stored base trials are counted in."""

    base: float
    head: float

    @property
    def trials(self) -> float:
        """Both sides."""
        return self.base + self.head


def power(design: Design, base_rate: float, head_rate: float) -> float:
    """Return P(regressed) in [0, 1] for the two pass rates, with all stops."""
    return sum(
        probability(arrival.regressed, arrival.look, base_rate, head_rate)
        for arrival in _arrivals(design)
    )


@cache
def smallest_drop(design: Design, base_rate: float, wanted: float = SEEN) -> float | None:
    """Return the smallest drop below `base_rate` that is found with power `wanted`, or None.

    It is rounded up to a ten thousandth. Power only grows as head's rate falls (the regions are
    monotone), so bisection finds the border.
    """
    return least_drop_found(lambda head: power(design, base_rate, head), base_rate, wanted)


def least_drop_found(
    chance: Callable[[float], float], base_rate: float, wanted: float, precision: float = 1e-4
) -> float | None:
    """Return the smallest drop below `base_rate` at which `chance` of head's rate is `wanted`.

    It is found by bisection, and rounded up to `precision`; None where no drop is found as often.
    """
    if chance(0.0) < wanted:
        return None
    found, missed = 0.0, base_rate
    while missed - found > precision:
        middle = (found + missed) / 2
        if chance(middle) >= wanted:
            found = middle
        else:
            missed = middle
    return base_rate - found


def expected(design: Design, base_rate: float, head_rate: float) -> TrialCost:
    """Return the mean number of trials for the two pass rates."""
    first, *later = design.looks
    base, head, before = float(first.base), float(first.head), first
    for arrival, look in zip(_arrivals(design), later, strict=False):
        chance = probability(arrival.going_on, arrival.look, base_rate, head_rate)
        base += chance * (look.base - before.base)
        head += chance * (look.head - before.head)
        before = look
    return TrialCost(base=base, head=head)


@cache
def _arrivals(design: Design) -> tuple[Arrival, ...]:
    return tuple(arrivals(design.looks, design.regressed, design.going_on))


CLEAR = 0.05
"""The largest p-value of `suspect` and of `improved`."""

LEAST_RISE_TENTHS = 1
RELIABLE_RATE = 0.70
ENOUGH_BASE_TRIALS = 10


class RegressionStatus(StrEnum):
    """How a fixture that was measured on both sides moved. Only `regressed` moves the decision."""

    REGRESSED = "regressed"
    UNRELIABLE_BASELINE = "unreliable baseline"
    SUSPECT = "suspect"
    NOT_CONFIRMED = "not confirmed"
    IMPROVED = "improved"
    UNCHANGED = "unchanged"


def status(design: Design, walk: Walk) -> RegressionStatus:
    """Return the status of a walk that ended: the first of `RegressionStatus` that applies.

    Raises ValueError if the rule still wants trials.
    """
    if not walk.ended:
        raise ValueError("This fixture still wants trials: it has no status yet.")
    if walk.step is LookResult.REGRESSED:
        return RegressionStatus.REGRESSED
    base, head = walk.base, walk.head
    if unreliable(design, base):
        return RegressionStatus.UNRELIABLE_BASELINE
    worse = fisher(base.passes, base.trials, head.passes, head.trials)
    if worse <= CLEAR:
        return RegressionStatus.SUSPECT
    if worse <= ESCALATION:
        return RegressionStatus.NOT_CONFIRMED
    better = improvement(base.passes, base.trials, head.passes, head.trials)
    rise = 10 * (head.passes * base.trials - base.passes * head.trials)
    risen = rise >= LEAST_RISE_TENTHS * base.trials * head.trials
    return RegressionStatus.IMPROVED if better <= CLEAR and risen else RegressionStatus.UNCHANGED


def unreliable(design: Design, base: PassCount) -> bool:
    """Tell whether base passes too seldom for a drop to be seen.

    Never from under 10 trials, nor for a fixture that is not tested by itself.
    """
    if base.trials < ENOUGH_BASE_TRIALS or not design.share:
        return False
    return base.rate < RELIABLE_RATE or smallest_drop(design, likely_rate(base)) is None


def likely_rate(base: PassCount) -> float:
    """Return base's rate as power is computed from it: (passes + 1/2) / (trials + 1)."""
    return (base.passes + 0.5) / (base.trials + 1)


def deterministic(*, base_passed: bool, head_passed: bool) -> RegressionStatus:
    """Return the status of a fixture that gives the same trace each time: one flip decides."""
    if base_passed == head_passed:
        return RegressionStatus.UNCHANGED
    return RegressionStatus.IMPROVED if head_passed else RegressionStatus.REGRESSED


Z = 1.96
"""For a number of trials that was fixed beforehand: about 95 %."""


def wilson_rate(rate: float, trials: float) -> tuple[float, float]:
    """Return the limits of a rate in [0, 1] that was seen in so many trials (Wilson 1927).

    `trials` is above 0.
    """
    square = Z * Z / trials
    middle = (rate + square / 2) / (1 + square)
    spread = rate * (1 - rate) + square / 4
    half = Z * sqrt(spread / trials) / (1 + square)
    low = 0.0 if rate <= 0 else max(0.0, middle - half)
    high = 1.0 if rate >= 1 else min(1.0, middle + half)
    return low, high


ADDED = 1.1
"""Observations added to each cell for the interval: the trick of Agresti and Coull (1998) for a
table of four cells. Without it, Wald's interval covers 63 to 93 % at 20 labels."""

STANDARD_ERRORS = 2.08
"""Standard errors to each side. With `ADDED`, coverage is 94 to 98 % at 20, 50 and 200 labels
(`benchmarks/kappa.py`)."""


class Confusion(NamedTuple):
    """How often two raters said the same and the other thing: a judge, and a person who is right.

    `true_pass`: both pass; `false_pass`: only the judge does; `false_fail`: only the person does.
    """

    true_pass: float = 0
    false_pass: float = 0
    false_fail: float = 0
    true_fail: float = 0

    @property
    def total(self) -> float:
        """How many were rated."""
        return self.true_pass + self.false_pass + self.false_fail + self.true_fail

    @property
    def passes(self) -> float:
        """How many the person passed."""
        return self.true_pass + self.false_fail

    @property
    def fails(self) -> float:
        """How many the person failed."""
        return self.false_pass + self.true_fail


def agreement(table: Confusion) -> float:
    """Return the share in [0, 1] on which both agree; 0 for an empty table."""
    return (table.true_pass + table.true_fail) / table.total if table.total else 0.0


def kappa(table: Confusion) -> float:
    """Return Cohen's kappa in [-1, 1].

    Where both give one and the same answer always, the formula is 0/0: nothing shows that they
    agree for a reason, so it is 0. So it is for an empty table. Counts are divided once, at the
    end: what is 0.6 is not a little less.
    """
    whole = table.total**2
    by_chance = _by_chance(table)
    if by_chance >= whole:
        return 0.0
    return (table.total * (table.true_pass + table.true_fail) - by_chance) / (whole - by_chance)


def kappa_interval(table: Confusion) -> tuple[float, float]:
    """Return limits of about 95 % for kappa, in [-1, 1]; they hold for 20 ratings.

    Wald's interval with the standard error of Fleiss, Cohen and Everitt (1969), after `ADDED`
    observations in each cell. It always holds the estimate itself.
    """
    if not table.total:
        return -1.0, 1.0
    smoothed = Confusion(*(cell + ADDED for cell in table))
    middle, half = kappa(smoothed), STANDARD_ERRORS * standard_error(smoothed)
    found = kappa(table)
    return max(-1.0, min(found, middle - half)), min(1.0, max(found, middle + half))


def _by_chance(table: Confusion) -> float:
    """The expected agreement times the square of the total."""
    judged = table.true_pass + table.false_pass
    return judged * table.passes + (table.total - judged) * table.fails


def standard_error(table: Confusion) -> float:
    """Return the standard error of kappa in large samples (Fleiss, Cohen and Everitt 1969).

    The table is not empty, and not both always give one and the same answer.
    """
    total = table.total
    both, judge_only, person_only, neither = (cell / total for cell in table)
    judged, said = both + judge_only, both + person_only
    expected, found = _by_chance(table) / total**2, kappa(table)
    doubt = 1 - found
    same = both * (1 - (judged + said) * doubt) ** 2
    same += neither * (1 - (2 - judged - said) * doubt) ** 2
    other = judge_only * (said + 1 - judged) ** 2 + person_only * (judged + 1 - said) ** 2
    off = found - expected * doubt
    variance = (same + doubt**2 * other - off**2) / ((1 - expected) ** 2 * total)
    return sqrt(max(0.0, variance))


_MOST = 1e6
"""Ratios beyond this, or its inverse, say nothing that a person would read."""


class Ratio(Value):
    """The geometric mean of `pairs` ratios; `low` and `high` are None for a single one.

    `level` is the chance, from 0 to 1, that such an interval holds the true mean.
    """

    mean: float
    low: float | None = None
    high: float | None = None
    pairs: int
    level: float


def paired_ratio(pairs: Sequence[tuple[float, float]], level: float) -> Ratio | None:
    """Return the mean ratio of each pair's second number to its first; None without a pair.

    All numbers are above 0. The interval is Student's, on the logarithms: that of a geometric mean
    (Bland and Altman, BMJ 1996; 312: 1079). Each pair counts once, however large its numbers are.
    """
    if not pairs:
        return None
    logs = [log(second) - log(first) for first, second in pairs]
    many = len(logs)
    mean = fsum(logs) / many
    if many == 1:
        return Ratio(mean=_ratio(mean), pairs=1, level=level)
    spread = sqrt(fsum((one - mean) ** 2 for one in logs) / (many - 1) / many)
    half = two_sided(level, many - 1) * spread
    return Ratio(
        mean=_ratio(mean),
        low=_ratio(mean - half),
        high=_ratio(mean + half),
        pairs=many,
        level=level,
    )


def _ratio(logarithm: float) -> float:
    return exp(min(max(logarithm, -log(_MOST)), log(_MOST)))


_STEPS = 60
_LARGEST = 1e6


@cache
def two_sided(level: float, freedom: int) -> float:
    """Return t with P(|T| <= t) = `level` at so many degrees of freedom, found by bisection.

    It says how far a mean of few numbers may lie from the true one.
    Raises ValueError unless `level` is in (0, 1) and `freedom` at least 1.
    """
    if not 0 < level < 1 or freedom < 1:
        raise ValueError(f"There is no t of level {level} with {freedom} degrees of freedom.")
    low, high = 0.0, _LARGEST
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle, freedom) < level else (low, middle)
    return high


def inside(t: float, freedom: int) -> float:
    """Return P(|T| <= t), by the finite sums for whole degrees of freedom.

    Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.3 and 26.7.4.
    """
    angle = atan(t / sqrt(freedom))
    square, odd = cos(angle) ** 2, freedom % 2
    term = total = cos(angle) if odd else 1.0
    for part in range(2 + odd, freedom - 1, 2):
        term *= (part - 1) / part * square
        total += term
    if not odd:
        return sin(angle) * total
    return 2 / pi * (angle + (sin(angle) * total if freedom > 1 else 0.0))
