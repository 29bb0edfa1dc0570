"""Which of several judges may be relied on, what that wants besides, and what else moves a judge.

Who chooses one of k judges by their labels has k chances to be lucky. So each is held against a
bound of its own kappa that holds with 1 - .05 / k (Bonferroni): all of them hold together in 95 of
100 choices. `benchmarks/kappa.py` counts how often the bound lies above the true kappa.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, comb, fsum
from statistics import NormalDist
from typing import NamedTuple

from gateval.domain.statistics.walk import ADDED, SEEN, Confusion, kappa, standard_error

ERROR = 0.05
"""The chance that one of the judges that are compared is taken to agree better than it does."""

MOST_LABELS = 100_000
"""More labels nobody makes."""

_ROUNDING = 1e-9


def choice_level(judges: int) -> float:
    """Return the level of the bound that each of so many judges is held against."""
    return 1 - ERROR / judges


def kappa_bound(table: Confusion, level: float) -> float:
    """Return the lower bound of kappa that holds with `level`, in [-1, 1]; -1 for an empty table.

    As `kappa_interval`, to one side: with `ADDED` observations in each cell the normal bound is
    above the true kappa in no more than 1 - `level` of cases, at 20 labels as well as at 50.
    """
    if not table.total:
        return -1.0
    smoothed = Confusion(*(cell + ADDED for cell in table))
    found = kappa(smoothed) - NormalDist().inv_cdf(level) * standard_error(smoothed)
    return max(-1.0, min(kappa(table), found))


def labels_for(table: Confusion, least: float, level: float, power: float = SEEN) -> int | None:
    """Return how many labels in all would show, with this power, that kappa is at least `least`, if
    the judge goes on as in `table`. None where it does not agree so far, or no number would do.

    Cantor (Psychological Methods 1996; 1: 150), n = ((z_a √Q0 + z_b √Q1) / (κ1 - κ0))², where Q / n
    is the variance of Fleiss, Cohen and Everitt, of the table as it is (Q1) and of one with the
    same margins whose kappa is `least` (Q0). At least so many that the bound itself gets there.
    """
    found = kappa(table)
    if not table.total or found - least < _ROUNDING:
        return None
    shares = Confusion(*(cell / table.total for cell in table))
    passed = shares.true_pass + shares.false_pass
    person = shares.passes
    by_chance = (
        passed * person,
        passed * (1 - person),
        (1 - passed) * person,
        (1 - passed) * (1 - person),
    )
    kept = max(0.0, least) / found  # with the same margins, kappa is linear in the cells
    edge = Confusion(
        *(kept * one + (1 - kept) * other for one, other in zip(shares, by_chance, strict=True))
    )
    alpha, beta = (NormalDist().inv_cdf(chance) for chance in (level, power))
    spread = alpha * standard_error(edge) + beta * standard_error(shares)
    labels = ceil((spread / (found - least)) ** 2)
    while kappa_bound(Confusion(*(labels * cell for cell in shares)), level) < least:
        labels += 1 + labels // 50
        if labels > MOST_LABELS:
            return None
    return labels


class JudgedAnswer(NamedTuple):
    """An answer that was judged: its characters, whether the judge passes it, and a person."""

    length: int
    judge: bool
    person: bool


class Leaning(NamedTuple):
    """How much more often a judge passes the longer half of answers that people judged alike, in
    [-1, 1], and how likely so much is where length means nothing to it.
    """

    more: float
    p: float


def length_leaning(answers: Iterable[JudgedAnswer]) -> Leaning | None:
    """Return how length moves a judge; None where no two answers differ in length alone.

    Answers that people pass and those that they fail are halved apart, at their median length: so
    better answers may be longer. Rates are compared as Mantel and Haenszel do, the p-value is that
    of all ways to give the same verdicts to the same answers (exact, two-sided).
    """
    every = list(answers)
    halves = [
        half
        for person in (True, False)
        if (half := _halves([one for one in every if one.person is person])) is not None
    ]
    if not halves:
        return None
    weight = fsum(len(long) * len(short) / (len(long) + len(short)) for long, short in halves)
    more = fsum(
        (sum(long) * len(short) - sum(short) * len(long)) / (len(long) + len(short))
        for long, short in halves
    )
    return Leaning(more / weight, _exact(halves))


_Halves = tuple[list[bool], list[bool]]


def _halves(answers: Sequence[JudgedAnswer]) -> _Halves | None:
    """What the judge says of the longer half, and of the others."""
    lengths = sorted(one.length for one in answers)
    median = lengths[(len(lengths) - 1) // 2] if lengths else 0
    long = [one.judge for one in answers if one.length > median]
    short = [one.judge for one in answers if one.length <= median]
    return (long, short) if long and short else None


def _exact(halves: Sequence[_Halves]) -> float:
    """The share of all ways in which the longer halves pass at least as oddly often."""
    chances, seen, mean = [1.0], 0, 0.0
    for long, short in halves:
        many, passes = len(long) + len(short), sum(long) + sum(short)
        ways = [
            comb(passes, hit) * comb(many - passes, len(long) - hit) / comb(many, len(long))
            for hit in range(len(long) + 1)
        ]
        chances = [
            fsum(
                chances[at - hit] * way
                for hit, way in enumerate(ways)
                if 0 <= at - hit < len(chances)
            )
            for at in range(len(chances) + len(long))
        ]
        seen += sum(long)
        mean += passes * len(long) / many
    far = abs(seen - mean) - _ROUNDING
    return min(1.0, fsum(one for at, one in enumerate(chances) if abs(at - mean) >= far))
