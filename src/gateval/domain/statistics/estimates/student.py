"""Student's t: how far a mean of few numbers may lie from the true one."""

from __future__ import annotations

from functools import cache
from math import atan, cos, pi, sin, sqrt

_STEPS = 60
_LARGEST = 1e6


@cache
def two_sided(level: float, freedom: int) -> float:
    """Return t with P(|T| <= t) = `level` at so many degrees of freedom, found by bisection.

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
    for step in range(2 + odd, freedom - 1, 2):
        term *= (step - 1) / step * square
        total += term
    if not odd:
        return sin(angle) * total
    return 2 / pi * (angle + (sin(angle) * total if freedom > 1 else 0.0))
