"""Where a look leads: for each count of base's passes, the most passes of head that get there.

Whole numbers decide at run time, so no rounding can.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.statistics.fisher import fisher
from gateval.domain.statistics.looks import ENTRY_BELOW, Look

LEAST_DROP_TENTHS = 1
"""Head's rate must be at least this many tenths below base's to be regressed."""

NEVER = -1


def attainable(looks: Sequence[Look], most: float) -> list[float]:
    """Return all p-values up to `most` that any look can give, smallest first."""
    values = {
        fisher(base, look.base, head, look.head)
        for look in looks
        for base in range(look.base + 1)
        for head in range(look.head + 1)
    }
    return sorted(value for value in values if value <= most)


def regressed_region(looks: Sequence[Look], cut: float) -> tuple[tuple[int, ...], ...]:
    """Return where head has regressed: p at most `cut`, and a drop of ten points or more."""
    return tuple(
        tuple(_most_passes(look, base, cut, LEAST_DROP_TENTHS) for base in range(look.base + 1))
        for look in looks
    )


def going_on_region(looks: Sequence[Look], escalation: float) -> tuple[tuple[int, ...], ...]:
    """Return where more trials are made: p at most `escalation`, or worse at an entry look."""

    def most(index: int, look: Look, base: int) -> int:
        if index == len(looks) - 1:
            return NEVER
        if look.head < ENTRY_BELOW:
            return (base * look.head - 1) // look.base
        return _most_passes(look, base, escalation, 0)

    return tuple(
        tuple(most(index, look, base) for base in range(look.base + 1))
        for index, look in enumerate(looks)
    )


def _most_passes(look: Look, base: int, limit: float, drop_tenths: int) -> int:
    """The most passes of head with a p-value of at most `limit` and at least that drop."""
    most = NEVER
    for head in range(look.head + 1):
        drop = 10 * (base * look.head - head * look.base)
        if drop < drop_tenths * look.base * look.head:
            break
        if fisher(base, look.base, head, look.head) > limit:
            break
        most = head
    return most
