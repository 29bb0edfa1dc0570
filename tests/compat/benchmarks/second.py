"""The scores of a benchmark once more, written from its page alone and in fractions.

It shares nothing with the product: criteria are plain tuples, and a score of None is a criterion
that could not be evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple


class Criterion(NamedTuple):
    weight: float
    score: float | None
    axis: str | None = None
    fatal: bool = False


def mean(criteria: Sequence[Criterion]) -> Fraction:
    """task_score = sum(score_i * weight_i) / sum(weight_i); nothing to divide by is 0."""
    weights = sum((Fraction(one.weight) for one in criteria), Fraction(0))
    points = Fraction(0)
    for one in criteria:
        if not one.fatal:
            points += Fraction(one.weight) * Fraction(1.0 if one.score is None else one.score)
    return points / weights if weights else Fraction(0)


def task(criteria: Sequence[Criterion]) -> float | None:
    """The score of a task; None where something was not measured."""
    if not criteria:
        return 0.0
    return None if any(one.score is None for one in criteria) else float(mean(criteria))


def axes(criteria: Sequence[Criterion]) -> dict[str, tuple[float | None, float]]:
    """The score and the weight of each axis."""
    found: dict[str, list[Criterion]] = {}
    for one in criteria:
        found.setdefault(one.axis or "__default__", []).append(one)
    return {
        axis: (task(several), float(sum(Fraction(one.weight) for one in several)))
        for axis, several in found.items()
    }


def run(tasks: Sequence[float]) -> float:
    """Mean of task scores."""
    return float(sum(map(Fraction, tasks), Fraction(0)) / len(tasks))


def verdict(score: float) -> str:
    """pass when the aggregate is >= 0.9, partial when it is above zero, fail otherwise."""
    if score >= 0.9 - 1e-9:
        return "pass"
    return "partial" if score > 0 else "fail"
