"""How far a pass rate can be trusted: an interval to show, not to decide by."""

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
