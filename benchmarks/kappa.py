"""`python -m benchmarks.kappa`: how often the interval of kappa holds the true value.

Exact for 20 and 50 labels, by counting all tables; simulated for 200. Judges with a sensitivity and
a specificity of .6 to .95, labels of which 20 to 80 % are passes. It exits with 1 where coverage
is not between 94 and 98 %, or where the bound that several judges are compared by lies above the
true value more often than it may.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from math import exp, lgamma, log
from typing import NamedTuple

from gateval.domain.statistics.choosing import choice_level, kappa_bound
from gateval.domain.statistics.walk import Confusion, kappa, kappa_interval

COMPARED = (1, 3, 6)
"""Judges that are compared."""
LEAST, MOST = 0.94, 0.98
PREVALENCES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
RATES = (0.6, 0.7, 0.8, 0.9, 0.95)
RUNS = 4_000


class Setting(NamedTuple):
    """A judge and the labels: the share that people pass, and how often the judge says the same."""

    prevalence: float
    sensitivity: float
    specificity: float

    @property
    def cells(self) -> Confusion:
        """The probability of each cell."""
        passes, fails = self.prevalence, 1 - self.prevalence
        return Confusion(
            passes * self.sensitivity,
            fails * (1 - self.specificity),
            passes * (1 - self.sensitivity),
            fails * self.specificity,
        )


SETTINGS = tuple(Setting(*values) for values in product(PREVALENCES, RATES, RATES))

Intervals = Mapping[Confusion, tuple[float, float]]


def intervals(labels: int) -> Intervals:
    """Return the interval of every table of so many labels."""
    return {table: kappa_interval(table) for table in _tables(labels)}


def coverage(labels: int, setting: Setting, known: Intervals) -> float:
    """Return the exact probability that the interval holds the true kappa, in [0, 1]."""
    logs = [log(cell) for cell in setting.cells]
    ways = [lgamma(count + 1) for count in range(labels + 1)]
    truth = kappa(setting.cells)
    return sum(
        exp(ways[labels] + sum(n * p - ways[int(n)] for n, p in zip(table, logs, strict=True)))
        for table, (low, high) in known.items()
        if low <= truth <= high
    )


def bounds(labels: int, judges: int) -> Mapping[Confusion, float]:
    """Return the bound of every table of so many labels, for so many judges."""
    return {table: kappa_bound(table, choice_level(judges)) for table in _tables(labels)}


def too_high(labels: int, setting: Setting, known: Mapping[Confusion, float]) -> float:
    """Return the exact probability that the bound lies above the true kappa, in [0, 1]."""
    truth = kappa(setting.cells)
    kept = {table: (-1.0, 1.0) for table, bound in known.items() if bound > truth}
    return coverage(labels, setting, kept)


def simulated(labels: int, setting: Setting, runs: int = RUNS) -> float:
    """Return the share of random tables whose interval holds the true kappa, in [0, 1]."""
    draw, truth = random.Random(f"{setting}"), kappa(setting.cells)
    held = 0
    for _ in range(runs):
        counts = Counter(draw.choices(range(4), setting.cells, k=labels))
        low, high = kappa_interval(Confusion(*(counts[cell] for cell in range(4))))
        held += low <= truth <= high
    return held / runs


def _tables(labels: int) -> Iterator[Confusion]:
    for a in range(labels + 1):
        for b in range(labels + 1 - a):
            for c in range(labels + 1 - a - b):
                yield Confusion(a, b, c, labels - a - b - c)


def main() -> int:
    """Returns the exit status."""
    missed = False
    for labels in (20, 50, 200):
        if labels <= 50:
            known = intervals(labels)
            found = {setting: coverage(labels, setting, known) for setting in SETTINGS}
        else:
            found = {setting: simulated(labels, setting) for setting in SETTINGS}
        worst, best = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
        mean = sum(found.values()) / len(found)
        how = "exact" if labels <= 50 else f"{RUNS:,} runs each"
        print(
            f"{labels:>4} labels ({how}): mean {mean:.4f}, least {found[worst]:.4f} at "
            f"{tuple(worst)}, most {found[best]:.4f} at {tuple(best)}, {len(found)} settings"
        )
        missed |= found[worst] < LEAST or found[best] > MOST
    for labels, judges in product((20, 50), COMPARED):
        held = bounds(labels, judges)
        over = {one: too_high(labels, one, held) for one in SETTINGS}
        worst, allowed = max(over, key=over.__getitem__), 1 - choice_level(judges)
        print(
            f"{labels:>4} labels, {judges} judges: the bound is too high in {over[worst]:.4f} at "
            f"most, at {tuple(worst)}; {allowed:.4f} are allowed"
        )
        missed |= over[worst] > allowed
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
