"""The exact stratified test: is head worse over all fixtures of an Eval taken together?

Each fixture is a stratum. Given the passes of both sides in every stratum, the total of head's
passes is under equal rates a sum of independent hypergeometric variables, whatever the rates of the
fixtures are (exact one-sided Cochran-Mantel-Haenszel test: Birch 1964, Mehta, Patel & Gray 1985).
"""

from __future__ import annotations

from cmath import exp
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from math import pi

from gateval.domain.statistics.fisher import weights
from gateval.domain.statistics.walk import Count

MARGIN = 1e-9
"""Added to every p-value: more than all errors of rounding for up to 100,000 strata."""

_NEGLIGIBLE = 1e-15


def stratified(strata: Iterable[tuple[Count, Count]]) -> float:
    """Return the p-value, in (0, 1], that head is worse than base over all (base, head) pairs.

    It is exact to `MARGIN`, and never too small. Strata may have any trials; one without trials on
    a side has no say. Equal strata are worked out once: 10,000 take a fraction of a second.
    """
    kinds: Counter[tuple[float, ...]] = Counter()
    above_lowest = 0
    for base, head in strata:
        lowest, chances = _free(base.trials, head.trials, base.passes + head.passes)
        above_lowest += head.passes - lowest
        kinds[chances] += 1
    return min(1.0, _at_most(above_lowest, kinds) + MARGIN)


def _at_most(total: int, kinds: Mapping[tuple[float, ...], int]) -> float:
    """P(sum <= total), by the discrete Fourier transform of the sum's characteristic function.

    Every factor has real roots only, as the generating function of a hypergeometric variable
    (Vatutin & Mikhailov 1982), so the function's absolute value falls from 0 to pi: once it is
    negligible, so is the rest.
    """
    points = 1 + sum((len(chances) - 1) * times for chances, times in kinds.items())
    result = (total + 1) / points
    for index in range(1, points // 2 + 1):
        turn = exp(2j * pi * index / points)
        value = complex(1)
        for chances, times in kinds.items():
            value *= _polynomial(chances, turn) ** times
        if abs(value) < _NEGLIGIBLE:
            break
        back = turn.conjugate()
        term = (value * (1 - exp(-2j * pi * (index * (total + 1) % points) / points))) / (1 - back)
        result += term.real / points * (1 if 2 * index == points else 2)
    return max(0.0, result)


def _polynomial(chances: tuple[float, ...], point: complex) -> complex:
    value = complex(0)
    for chance in reversed(chances):
        value = value * point + chance
    return value


@cache
def _free(base_trials: int, head_trials: int, passes: int) -> tuple[int, tuple[float, ...]]:
    """The fewest passes that head can have, and the chances of 0, 1, ... more than that."""
    ways = list(weights(base_trials, head_trials, passes))
    total = sum(ways)
    return max(0, passes - base_trials), tuple(way / total for way in ways)
