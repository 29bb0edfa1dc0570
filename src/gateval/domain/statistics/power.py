"""The power and the cost of a design, exactly, for given pass rates."""

from __future__ import annotations

from functools import cache

from gateval.domain.base import Value
from gateval.domain.statistics.design import Design
from gateval.domain.statistics.looks import Look
from gateval.domain.statistics.paths import Arrival, arrivals, probability

SEEN = 0.8
"""The power at which a drop counts as one that is found."""

_PRECISION = 1e-4


class TrialCost(Value):
    """Trials of each side for one fixture; stored base trials are counted in."""

    base: float
    head: float

    @property
    def trials(self) -> float:
        """Both sides."""
        return self.base + self.head


def power(design: Design, base_rate: float, head_rate: float) -> float:
    """Return P(regressed) in [0, 1] for the two pass rates, with all stops."""
    return sum(
        probability(arrival.regressed, arrival.look, base_rate, head_rate)
        for arrival in _arrivals(design)
    )


@cache
def smallest_drop(design: Design, base_rate: float, wanted: float = SEEN) -> float | None:
    """Return the smallest drop below `base_rate` that is found with power `wanted`, or None.

    It is rounded up to a ten thousandth. Power only grows as head's rate falls (the regions are
    monotone), so bisection finds the border.
    """
    if power(design, base_rate, 0.0) < wanted:
        return None
    found, missed = 0.0, base_rate
    while missed - found > _PRECISION:
        middle = (found + missed) / 2
        if power(design, base_rate, middle) >= wanted:
            found = middle
        else:
            missed = middle
    return base_rate - found


def expected(design: Design, base_rate: float, head_rate: float) -> TrialCost:
    """Return the mean number of trials for the two pass rates."""
    first, *later = design.looks
    base, head, before = float(first.base), float(first.head), first
    for arrival, look in zip(_arrivals(design), later, strict=False):
        chance = probability(arrival.going_on, arrival.look, base_rate, head_rate)
        base += chance * (look.base - before.base)
        head += chance * (look.head - before.head)
        before = look
    return TrialCost(base=base, head=head)


def most(design: Design) -> Look:
    """Return the most trials of each side that the design can ask for."""
    return design.looks[-1]


@cache
def _arrivals(design: Design) -> tuple[Arrival, ...]:
    return tuple(arrivals(design.looks, design.regressed, design.going_on))
