"""The power of the tests of several units with scores, where each score is 0 or 1.

Such scores are the hardest to tell apart. A pair of trials then says worse, better or neither, and
the paired permutation test is a sign test on those that differ. So all ways through the looks can
be counted, for rates that are the same in every unit. From `COUNTED` pairs on, the normal
distribution takes the place of counting; where the test itself goes over to blocks of pairs, this
counts on as if it did not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import comb, erf, sqrt
from typing import NamedTuple

from gateval.domain.statistics.broad import GO_ON
from gateval.domain.statistics.walk import SEEN

COUNTED = 96
"""Pairs of the last look up to which ways are counted one by one."""

_PRECISION = 1e-3
_STEPS = 200
_ROUNDING = 1e-9


class PairedRule(NamedTuple):
    """A test of several units at fixed looks.

    `pairs` are those of all units together at each look, `parts` the largest p-values that mean
    regressed there (0: none does). A look goes on up to `GO_ON`, or where `early` and it has too
    few pairs for such a p-value; never where the mean fell by less than `least_drop`.
    """

    pairs: tuple[int, ...]
    parts: tuple[float, ...]
    least_drop: float
    early: bool = False


def paired_power(rule: PairedRule, base_rate: float, head_rate: float) -> float:
    """Return P(regressed) in [0, 1] for these rates of 1 in all units, with all stops."""
    worse, better = base_rate * (1 - head_rate), (1 - base_rate) * head_rate
    if rule.pairs[-1] > COUNTED:
        return _by_normal(rule, worse, better)
    found, before = 0.0, 0
    ways: dict[tuple[int, int], float] = {(0, 0): 1.0}
    for index, pairs in enumerate(rule.pairs):
        ends = _ends(pairs, rule.parts[index], rule.least_drop)
        steps = _ways(pairs - before, worse, better)
        if index + 1 == len(rule.pairs):
            return found + _ending(ways, steps, ends)
        limit = 1.0 if rule.early and 0.5**pairs > GO_ON else GO_ON
        on = _ends(pairs, limit, rule.least_drop)
        reached: dict[tuple[int, int], float] = {}
        for (down, up), chance in ways.items():
            for (more_down, more_up), step in steps:
                now = (down + more_down, up + more_up)
                if now[1] <= ends[now[0]]:
                    found += chance * step
                elif now[1] <= on[now[0]]:
                    reached[now] = reached.get(now, 0.0) + chance * step
        ways, before = reached, pairs
    return found


@cache
def smallest_fall(rule: PairedRule, base_rate: float, wanted: float = SEEN) -> float | None:
    """Return the smallest fall below `base_rate` that is found with power `wanted`, or None.

    Of all units alike; rounded up to a thousandth.
    """
    if paired_power(rule, base_rate, 0.0) < wanted:
        return None
    found, missed = 0.0, base_rate
    while missed - found > _PRECISION:
        middle = (found + missed) / 2
        if paired_power(rule, base_rate, middle) >= wanted:
            found = middle
        else:
            missed = middle
    return base_rate - found


def _ways(pairs: int, worse: float, better: float) -> list[tuple[tuple[int, int], float]]:
    """Return the chance of each number of pairs that are worse and better."""
    same = 1 - worse - better
    return [
        ((down, up), comb(pairs, down) * comb(pairs - down, up) * chance)
        for down in range(pairs + 1)
        for up in range(pairs + 1 - down)
        if (chance := worse**down * better**up * same ** (pairs - down - up)) > 0
    ]


@cache
def _ends(pairs: int, limit: float, least_drop: float) -> tuple[int, ...]:
    """Return, for each number of worse pairs, the most better ones with a p-value in the limit and
    a fall that matters; -1: none.
    """
    found = []
    for down in range(pairs + 1):
        most = -1
        for up in range(min(down, pairs - down) + 1):
            fell = (down - up) / pairs >= least_drop - _ROUNDING
            if not fell or _p_value(down, up) > limit:
                break
            most = up
        found.append(most)
    return tuple(found)


@cache
def _p_value(down: int, up: int) -> float:
    many = down + up
    return sum(comb(many, one) for one in range(down, many + 1)) / float(2**many)


def _ending(
    ways: dict[tuple[int, int], float],
    steps: Sequence[tuple[tuple[int, int], float]],
    ends: Sequence[int],
) -> float:
    """Return the chance that the last look says regressed."""
    last = max((down for (down, _), _ in steps), default=0)
    sums: list[list[float]] = [[0.0] for _ in range(last + 1)]
    for (down, _), chance in steps:  # they come with the number of better pairs rising
        sums[down].append(sums[down][-1] + chance)
    total = 0.0
    for (down, up), chance in ways.items():
        for more, row in enumerate(sums):
            room = ends[down + more] - up if down + more < len(ends) else -1
            if room >= 0:
                total += chance * row[min(room + 1, len(row) - 1)]
    return total


def _by_normal(rule: PairedRule, worse: float, better: float) -> float:
    """Return the same by the normal distribution of the fall at one or two looks."""
    fall, spread = worse - better, worse + better - (worse - better) ** 2
    if not spread:
        return 1.0 if fall >= rule.least_drop else 0.0
    bars = [_bar(rule, index, worse + better, rule.parts[index]) for index in range(2)][
        : len(rule.pairs)
    ]
    sds = [sqrt(spread / pairs) for pairs in rule.pairs]
    found = 1 - _below((bars[0] - fall) / sds[0])
    if len(rule.pairs) == 1:
        return found
    first, last = rule.pairs[0], rule.pairs[-1]
    low, high = _bar(rule, 0, worse + better, GO_ON), bars[0]
    more = sqrt(spread / (last - first))
    wide = (high - low) / _STEPS
    for step in range(_STEPS):
        at = low + (step + 0.5) * wide
        here = _below((at + wide / 2 - fall) / sds[0]) - _below((at - wide / 2 - fall) / sds[0])
        needed = (bars[1] * last - at * first) / (last - first)
        found += here * (1 - _below((needed - fall) / more))
    return found


def _bar(rule: PairedRule, index: int, differing: float, limit: float) -> float:
    """Return the fall of the mean from which a look says so."""
    pairs = rule.pairs[index] if index < len(rule.pairs) else rule.pairs[-1]
    if limit <= 0:
        return 1.0
    return max(rule.least_drop, (_upper(limit) * sqrt(differing * pairs) + 1) / pairs)


def _below(value: float) -> float:
    return (1 + erf(value / sqrt(2))) / 2


@cache
def _upper(share: float) -> float:
    """Return how many standard deviations a share of chances lies above."""
    low, high = 0.0, 10.0
    while high - low > _PRECISION / 10:
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - _below(middle) > share else (low, middle)
    return high
