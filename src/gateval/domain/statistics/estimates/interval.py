"""How far a pass rate can be trusted: an interval to show, not to decide by."""

from __future__ import annotations

from math import sqrt

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
