"""Estimates to show, not to decide by: intervals, agreement of raters, ratios.

kappa = (p_o - p_e) / (1 - p_e), with the observed and the expected share of agreement (Cohen 1960).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import atan, cos, exp, fsum, log, pi, sin, sqrt
from typing import NamedTuple

from gateval.domain.base import Value

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


ADDED = 1.0
"""Observations added to each cell for the interval: the trick of Agresti and Coull (1998) for a
table of four cells. Without it, Wald's interval covers 63 to 93 % at 20 labels."""

STANDARD_ERRORS = 2.0
"""Standard errors to each side. With `ADDED`, coverage is 93.5 to 98 % at 20, 50 and 200 labels
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
    middle, half = kappa(smoothed), STANDARD_ERRORS * _standard_error(smoothed)
    found = kappa(table)
    return max(-1.0, min(found, middle - half)), min(1.0, max(found, middle + half))


def _by_chance(table: Confusion) -> float:
    """The expected agreement times the square of the total."""
    judged = table.true_pass + table.false_pass
    return judged * table.passes + (table.total - judged) * table.fails


def _standard_error(table: Confusion) -> float:
    """The large-sample standard error of kappa; no cell is empty."""
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
    for step in range(2 + odd, freedom - 1, 2):
        term *= (step - 1) / step * square
        total += term
    if not odd:
        return sin(angle) * total
    return 2 / pi * (angle + (sin(angle) * total if freedom > 1 else 0.0))
