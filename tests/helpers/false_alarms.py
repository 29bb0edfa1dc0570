"""The chance that a design calls an unchanged fixture regressed, at its worst, as one number."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.statistics.design import (
    Design,
    arrivals,
    coefficients,
    never_above,
    regressed_by_passes,
)


def largest(bernstein: Sequence[float], precision: float = 1e-9) -> float:
    """An upper bound of the polynomial's largest value on [0, 1], a part of it above it."""
    low, high = max(bernstein[0], bernstein[-1]), max(bernstein)
    while high - low > precision * high:
        middle = (low + high) / 2
        low, high = (low, middle) if never_above(bernstein, middle) else (middle, high)
    return high


def false_alarm(design: Design) -> float:
    """The largest chance, over all common pass rates, that an unchanged fixture regresses."""
    arrived = arrivals(design.looks, design.regressed, design.going_on)
    counts = regressed_by_passes(design.looks, arrived)
    return largest(coefficients(counts, design.looks[-1].trials))
