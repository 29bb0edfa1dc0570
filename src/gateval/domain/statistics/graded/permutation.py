"""The exact two-sample permutation test of one unit: how surprising are head's scores?

If nothing changed, every way to deal the scores of both sides out to them is equally likely,
however they are distributed (Fisher 1935, Pitman 1937). The p-value is the share of the ways in
which head gets as little as it did, or less. On scores of 0 and 1 it is Fisher's exact test.

The ways are counted exactly: the sums that k of the scores can have are the digits of one large
whole number, whose base no count can reach, so adding a score is one shift and one addition.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb

from gateval.domain.statistics.graded.grid import blocks, levels

_DIGIT = 48
"""Bits of a digit: more ways than there are to deal 36 scores out (34 bits) fit in."""


def permutation(base: Sequence[float], head: Sequence[float]) -> float:
    """Return the one-sided exact p-value, in (0, 1], that head's scores are lower than base's.

    1 where a side has none. A higher score of head or a lower one of base never lowers it.
    """
    if not base or not head:
        return 1.0
    most = max(len(base), len(head))
    ours, theirs = levels(blocks(head, most)), levels(blocks(base, most))
    if not ours or not theirs:
        return 1.0
    lowest = min(*ours, *theirs)
    pooled = tuple(sorted(score - lowest for score in (*ours, *theirs)))
    return _share(pooled, len(ours), sum(ours) - lowest * len(ours))


@lru_cache(maxsize=10_000)
def _share(pooled: tuple[int, ...], taken: int, total: int) -> float:
    """The share of the ways to take so many of the pooled scores whose sum is at most `total`."""
    ways = [1] + [0] * taken
    up_to = (1 << ((total + 1) * _DIGIT)) - 1
    for number, score in enumerate(pooled, 1):
        if score <= total:
            for count in range(min(number, taken), 0, -1):
                ways[count] += (ways[count - 1] << (score * _DIGIT)) & up_to
    return (ways[taken] % ((1 << _DIGIT) - 1)) / comb(len(pooled), taken)
