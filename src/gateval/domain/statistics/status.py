"""The status of a fixture when its trials are over."""

from __future__ import annotations

from enum import StrEnum

from gateval.domain.statistics.design import ESCALATION, Design, LookResult
from gateval.domain.statistics.fisher import fisher, improvement
from gateval.domain.statistics.power import smallest_drop
from gateval.domain.statistics.walk import Count, Walk

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


def unreliable(design: Design, base: Count) -> bool:
    """Tell whether base passes too seldom for a drop to be seen.

    Never from under 10 trials, nor for a fixture that is not tested by itself.
    """
    if base.trials < ENOUGH_BASE_TRIALS or not design.share:
        return False
    return base.rate < RELIABLE_RATE or smallest_drop(design, likely_rate(base)) is None


def likely_rate(base: Count) -> float:
    """Return base's rate as power is computed from it: (passes + 1/2) / (trials + 1)."""
    return (base.passes + 0.5) / (base.trials + 1)


def deterministic(*, base_passed: bool, head_passed: bool) -> RegressionStatus:
    """Return the status of a fixture that gives the same trace each time: one flip decides."""
    if base_passed == head_passed:
        return RegressionStatus.UNCHANGED
    return RegressionStatus.IMPROVED if head_passed else RegressionStatus.REGRESSED


def _risen(base: Count, head: Count) -> bool:
    rise = head.passes * base.trials - base.passes * head.trials
    return 10 * rise >= LEAST_RISE_TENTHS * base.trials * head.trials
