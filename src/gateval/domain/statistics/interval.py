"""How far a difference of two pass rates can be trusted: an interval to show, not to decide by."""

from __future__ import annotations

from math import sqrt

from gateval.domain.statistics.walk import Count

Z = 2.5
"""Wider than 1.96, because the data decide when to stop: simulated coverage is 95 % with it."""

FIXED_Z = 1.96
"""For a number of trials that was fixed beforehand: about 95 %."""


def wilson(count: Count, z: float = Z) -> tuple[float, float]:
    """Return the limits of a pass rate in [0, 1] (Wilson 1927); (0, 1) without a trial."""
    return wilson_rate(count.rate, count.trials, z) if count.trials else (0.0, 1.0)


def wilson_rate(rate: float, trials: float, z: float = FIXED_Z) -> tuple[float, float]:
    """Return the limits of a rate in [0, 1] that was seen in so many trials, above 0."""
    square = z * z / trials
    middle = (rate + square / 2) / (1 + square)
    spread = rate * (1 - rate) + square / 4
    half = z * sqrt(spread / trials) / (1 + square)
    low = 0.0 if rate <= 0 else max(0.0, middle - half)
    high = 1.0 if rate >= 1 else min(1.0, middle + half)
    return low, high


def difference(base: Count, head: Count, z: float = Z) -> tuple[float, float]:
    """Return the limits of head's rate minus base's in [-1, 1] (Newcombe 1998, hybrid score).

    It is approximate, and it allows for the stop that depends on the data; it is not adjusted for
    picking the fixture that looks worst.
    """
    base_low, base_high = wilson(base, z)
    head_low, head_high = wilson(head, z)
    gap = head.rate - base.rate
    below = sqrt((head.rate - head_low) ** 2 + (base_high - base.rate) ** 2)
    above = sqrt((head_high - head.rate) ** 2 + (base.rate - base_low) ** 2)
    return max(-1.0, gap - below), min(1.0, gap + above)
