"""The exact paired permutation test of several units: is head worse over all of them together?

The nth score of head is paired with the nth of base, unit by unit. If nothing changed, each
difference is as likely as its opposite (Fisher 1935), so the p-value is the share of all ways to
turn them round whose sum is at most the one seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, fsum

from gateval.domain.statistics.graded.grid import Scores

BLOCKS = 64
"""Differences that are turned round one by one; of more, the means of blocks of them."""

_LEVELS = 10_000
_DIGIT = BLOCKS + 1


def differences(base: Scores, head: Scores) -> list[float]:
    """Return head minus base of one unit, pair by pair; a pair with a lost trial has no say."""
    return [
        ours - theirs
        for theirs, ours in zip(base, head, strict=False)
        if ours is not None and theirs is not None
    ]


def sign_flip(found: Iterable[float]) -> float:
    """Return the one-sided exact p-value, in (0, 1], that the differences are below 0.

    With more than `BLOCKS`, blocks of them are turned round as one, which is exact, too. 1 without
    any. Rounding to a ten thousandth is symmetric, so it changes nothing of that.
    """
    sizes = [_level(one) for one in _blocks(list(found))]
    seen = sum(size for size in sizes if size < 0)
    spans = [abs(size) for size in sizes if size]
    if not spans:
        return 1.0
    ways = 1
    for span in spans:
        ways += ways << (span * _DIGIT)
    # The sum is lowest where all are negative; each that is positive lies its span above that.
    above = sum(spans) + seen
    up_to = ways & ((1 << ((above + 1) * _DIGIT)) - 1)
    return (up_to % ((1 << _DIGIT) - 1)) / (1 << len(spans))


def _blocks(found: Sequence[float]) -> list[float]:
    size = ceil(len(found) / BLOCKS) if found else 1
    if size == 1:
        return list(found)
    parts = [found[at : at + size] for at in range(0, len(found), size)]
    return [fsum(part) / size for part in parts]


def _level(difference: float) -> int:
    """Return a difference in ten thousandths, rounded alike on both sides of 0."""
    level = round(abs(difference) * _LEVELS)
    return -level if difference < 0 else level
