"""One fixture's trials taken through its design: what follows, its status, and the power."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from typing import Annotated

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
    return Walk(
        step=taken, look=look, base=counted(base[: look.base]), head=counted(head[: look.head])
    )


def counted(outcomes: Outcomes) -> PassCount:
    """Return the passes among those of `outcomes` that were measured."""
    measured = [outcome for outcome in outcomes if outcome is not None]
    return PassCount(passes=sum(measured), trials=len(measured))


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

_PRECISION = 1e-4


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
    if power(design, base_rate, 0.0) < wanted:
        return None
    found, missed = 0.0, base_rate
    while missed - found > _PRECISION:
        middle = (found + missed) / 2
        if power(design, base_rate, middle) >= wanted:
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


def most(design: Design) -> Look:
    """Return the most trials of each side that the design can ask for."""
    return design.looks[-1]


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
    return (
        RegressionStatus.IMPROVED
        if better <= CLEAR and _risen(base, head)
        else RegressionStatus.UNCHANGED
    )


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


def _risen(base: PassCount, head: PassCount) -> bool:
    rise = head.passes * base.trials - base.passes * head.trials
    return 10 * rise >= LEAST_RISE_TENTHS * base.trials * head.trials
