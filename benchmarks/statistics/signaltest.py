"""The rule of `signaltest` 0.7, the best peer we know, written from its description.

Ten trials of each fixture against ten recorded ones, Fisher's two-sided exact test for each, the
false discovery rate held at .05 over the suite (Benjamini & Hochberg 1995), and a drop of at least
ten points.
"""

from __future__ import annotations

from functools import cache
from math import comb
from random import Random

from benchmarks.statistics.scenarios import Single
from gateval.domain.statistics.power import Rates

TRIALS = 10
RATE = 0.05
LEAST_DROP = 1
"""In trials: ten points of ten."""


def once(random: Random, rates: Rates, broken: int) -> Single:
    """One run of its rule."""
    counts = [
        (_passes(random, base), _passes(random, head))
        for base, head in zip(rates.base, rates.head, strict=True)
    ]
    found = [
        index
        for index in _discovered([two_sided(base, head) for base, head in counts])
        if counts[index][0] - counts[index][1] >= LEAST_DROP
    ]
    return Single(
        blocked=bool(found),
        found=any(index < broken for index in found),
        slipped=False,
        base_trials=TRIALS * len(counts),
        head_trials=TRIALS * len(counts),
    )


@cache
def two_sided(base: int, head: int) -> float:
    """Fisher's two-sided p-value: all tables that are at most as likely as this one."""
    passes = base + head
    ways = {
        x: comb(TRIALS, x) * comb(TRIALS, passes - x)
        for x in range(max(0, passes - TRIALS), min(TRIALS, passes) + 1)
    }
    return sum(way for way in ways.values() if way <= ways[head]) / comb(2 * TRIALS, passes)


def _discovered(p_values: list[float]) -> list[int]:
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    ranks = [
        rank for rank, index in enumerate(order, 1) if p_values[index] <= RATE * rank / len(order)
    ]
    return order[: max(ranks, default=0)]


def _passes(random: Random, rate: float) -> int:
    return sum(random.random() < rate for _ in range(TRIALS))
