"""By how much numbers that come in pairs rose: a mean ratio with its interval, by Student's t."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import atan, cos, exp, fsum, log, pi, sin, sqrt

from gateval.domain.base import Value

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
    for step in range(2 + odd, freedom - 1, 2):
        term *= (step - 1) / step * square
        total += term
    if not odd:
        return sin(angle) * total
    return 2 / pi * (angle + (sin(angle) * total if freedom > 1 else 0.0))
