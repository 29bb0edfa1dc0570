"""By how much numbers that come in pairs rose: a mean ratio with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum, log, sqrt

from gateval.domain.base import Value
from gateval.domain.statistics.estimates.student import two_sided

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
