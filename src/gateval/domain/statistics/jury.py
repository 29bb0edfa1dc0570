"""How several raters agree, err together and err as one.

Agreement is Krippendorff's alpha: 1 - D_o / D_e, the observed over the expected disagreement of all
pairs of values, each unit weighed by how many values it has (Krippendorff 2011). It says how alike
raters are, and nothing of who is right: for that there are errors, against people's labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb, fsum, sqrt
from typing import NamedTuple

Difference = Callable[[float, float], float]


def nominal(one: float, other: float) -> float:
    """The difference of two values that are names: 0 or 1."""
    return float(one != other)


def interval(one: float, other: float) -> float:
    """The difference of two values on a scale with equal steps, squared."""
    return (one - other) ** 2


def krippendorff(
    units: Sequence[Sequence[float | None]], difference: Difference = interval
) -> float | None:
    """Return alpha in [-1, 1] of units, each with the value of every rater, None where it is none.

    None where it is 0/0: fewer than two values can be compared, or all of them are alike.
    """
    values = [[one for one in unit if one is not None] for unit in units]
    paired = [unit for unit in values if len(unit) > 1]
    every = Counter(one for unit in paired for one in unit)
    total = every.total()
    if len(every) < 2:
        return None
    within = fsum(
        2 * fsum(difference(*pair) for pair in combinations(unit, 2)) / (len(unit) - 1)
        for unit in paired
    )
    between = fsum(
        2 * every[one] * every[other] * difference(one, other)
        for one, other in combinations(every, 2)
    )
    return 1 - (total - 1) * within / between


class Correlation(NamedTuple):
    """How raters err together: the mean correlation of two (phi), and how many that do not the
    jury is worth.
    """

    mean: float
    worth: float


def error_correlation(errors: Sequence[Sequence[bool]]) -> Correlation | None:
    """Return how the errors of raters hang together; a row for each unit, a column for each rater.

    Raters who err alike are worth one, those who err by themselves are worth all of them: k jurors
    are worth k / (1 + (k - 1) phi). None where fewer than two of them err, or err always.
    """
    columns = [*zip(*errors, strict=True)]
    found = [one for pair in combinations(columns, 2) if (one := _phi(*pair)) is not None]
    if not found:
        return None
    mean, many = fsum(found) / len(found), len(columns)
    return Correlation(mean, many / (1 + (many - 1) * min(1.0, max(0.0, mean))))


def _phi(one: Sequence[bool], other: Sequence[bool]) -> float | None:
    many, a, b = len(one), sum(one), sum(other)
    both = sum(x and y for x, y in zip(one, other, strict=True))
    spread = a * (many - a) * b * (many - b)
    return (many * both - a * b) / sqrt(spread) if spread else None


def clopper_pearson(count: int, total: int, level: float = 0.95) -> tuple[float, float]:
    """Return limits of a rate that was seen `count` times in `total`; they hold whatever it is."""
    tail = (1 - level) / 2
    low = 0.0 if count == 0 else _where(lambda rate: 1 - _at_most(count - 1, total, rate), tail)
    high = (
        1.0 if count >= total else 1 - _where(lambda rate: _at_most(count, total, 1 - rate), tail)
    )
    return low, high


def _where(rising: Callable[[float], float], value: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < value else (low, middle)
    return (low + high) / 2


def _at_most(count: int, total: int, rate: float) -> float:
    """The chance of at most so many, the terms from the likeliest on, each from the one before."""
    if rate <= 0.0:
        return 1.0
    if rate >= 1.0:
        return float(count >= total)
    odds = rate / (1 - rate)
    term = 1.0
    terms = [term]
    for number in range(1, total + 1):
        term *= odds * (total - number + 1) / number
        if term > 1e200:  # only the ratio of both sums counts
            terms, term = [one / 1e200 for one in terms], term / 1e200
        terms.append(term)
    return sum(terms[: count + 1]) / sum(terms)  # none is below 0: nothing is lost that counts


def mcnemar(one: int, other: int) -> float:
    """Return the exact two-sided p-value of two raters, who alone were wrong so many times each."""
    total = one + other
    tail = sum(comb(total, number) for number in range(min(one, other) + 1))
    return min(1.0, 2 * tail / (1 << total))
