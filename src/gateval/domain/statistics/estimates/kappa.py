"""Agreement of two raters who say yes or no, beyond what chance alone would give: Cohen's kappa.

kappa = (p_o - p_e) / (1 - p_e), with the observed and the expected share of agreement (Cohen 1960).
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

ADDED = 1.0
"""Observations added to each cell for the interval: the trick of Agresti and Coull (1998) for a
table of four cells. Without it, Wald's interval covers 63 to 93 % at 20 labels."""

Z = 2.0
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
    middle, half = kappa(smoothed), Z * _standard_error(smoothed)
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
