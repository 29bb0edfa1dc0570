"""Counting the ways through a design: how many sequences of trials end at which look and how.

All sequences with the same passes on each side are equally likely, whatever the two rates are. So
the integers counted here give every exact figure: the false alarm, the power, the trials spent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import comb
from typing import NamedTuple

from gateval.domain.statistics.looks import Look

Limits = Sequence[Sequence[int]]
"""For each look, for each count of base's passes: the most passes of head that still lead there."""

Counts = dict[tuple[int, int], int]
"""(base's passes, head's passes) → the number of sequences of trials."""


class Arrival(NamedTuple):
    """The sequences that get as far as one look, by what is decided there."""

    look: Look
    regressed: Counts
    going_on: Counts
    stopped: Counts


def arrivals(looks: Sequence[Look], regressed: Limits, going_on: Limits) -> list[Arrival]:
    """Return for each look the sequences that arrive there.

    A sequence regresses where head's passes are at most the limit in `regressed`, else goes on
    where they are at most that in `going_on` (it must not at the last look), else stops.
    """
    result = []
    states: Counts = {(0, 0): 1}
    base, head = 0, 0
    for index, look in enumerate(looks):
        states = _extended(states, look.base - base, look.head - head)
        base, head = look.base, look.head
        arrival = Arrival(look, {}, {}, {})
        for (base_passes, head_passes), count in states.items():
            if head_passes <= regressed[index][base_passes]:
                where = arrival.regressed
            elif head_passes <= going_on[index][base_passes]:
                where = arrival.going_on
            else:
                where = arrival.stopped
            where[base_passes, head_passes] = count
        result.append(arrival)
        states = arrival.going_on
    return result


def regressed_by_passes(looks: Sequence[Look], arrived: Sequence[Arrival]) -> Counts:
    """Return the regressed sequences by (trials of both sides, passes of both sides)."""
    result: defaultdict[tuple[int, int], int] = defaultdict(int)
    for look, arrival in zip(looks, arrived, strict=True):
        for (base, head), count in arrival.regressed.items():
            result[look.trials, base + head] += count
    return dict(result)


def probability(
    counts: Mapping[tuple[int, int], int], look: Look, base: float, head: float
) -> float:
    """Return the probability of the sequences in `counts` at `look`, for the two pass rates."""
    base_chances = [base**x * (1 - base) ** (look.base - x) for x in range(look.base + 1)]
    head_chances = [head**x * (1 - head) ** (look.head - x) for x in range(look.head + 1)]
    return sum(count * base_chances[x] * head_chances[y] for (x, y), count in counts.items())


def _extended(states: Counts, more_base: int, more_head: int) -> Counts:
    after_base: defaultdict[tuple[int, int], int] = defaultdict(int)
    for (base, head), count in states.items():
        for passes in range(more_base + 1):
            after_base[base + passes, head] += count * comb(more_base, passes)
    after_head: defaultdict[tuple[int, int], int] = defaultdict(int)
    for (base, head), count in after_base.items():
        for passes in range(more_head + 1):
            after_head[base, head + passes] += count * comb(more_head, passes)
    return after_head
