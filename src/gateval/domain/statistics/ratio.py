"""By how much numbers that come in pairs rose: a mean ratio with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum, log, sqrt

from gateval.domain.base import Value
from gateval.domain.statistics.student import two_sided

_MOST = 1e6
"""Limits beyond this say nothing that a person would read."""


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
    logs = [log(second / first) for first, second in pairs]
    many = len(logs)
    mean = fsum(logs) / many
    if many == 1:
        return Ratio(mean=exp(mean), pairs=1, level=level)
    spread = sqrt(fsum((one - mean) ** 2 for one in logs) / (many - 1) / many)
    half = two_sided(level, many - 1) * spread
    low, high = mean - half, mean + half
    return Ratio(
        mean=exp(mean),
        low=max(exp(max(low, -log(_MOST))), 0.0),
        high=exp(min(high, log(_MOST))),
        pairs=many,
        level=level,
    )
