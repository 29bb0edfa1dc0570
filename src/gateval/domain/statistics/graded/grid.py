"""Scores as whole numbers, so that sums are exact and equal scores are equal on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from gateval.domain.base import Value

LEVELS = 1_000
"""Levels between 0 and 1. A test of rounded scores is as exact as one of the scores themselves."""

MOST = 18
"""Scores of a side that a test takes one by one; of more, the means of blocks of equal size."""

Scores = Sequence[float | None]
"""The scores of one unit on one side, in the order of repetitions; None for one lost for good."""


class Sample(Value):
    """The scores that were measured: how many, and their mean in [0, 1], 0 without any."""

    mean: float
    trials: int


def sample(scores: Scores) -> Sample:
    """Return the mean of the scores that were measured."""
    known = [score for score in scores if score is not None]
    return Sample(mean=sum(known) / len(known) if known else 0.0, trials=len(known))


def levels(scores: Sequence[float]) -> list[int]:
    """Return scores in [0, 1] as whole numbers from 0 to `LEVELS`."""
    return [round(score * LEVELS) for score in scores]


def blocks(scores: Sequence[float], most: int) -> list[float]:
    """Return the scores, or the means of blocks where a side has more than `MOST`.

    `most` is the larger count of both sides. Blocks have equal sizes on both, by the order of the
    repetitions; what is left over at the end has no say. Means of blocks of an unchanged agent are
    as exchangeable as its scores.
    """
    size = ceil(most / MOST)
    if size == 1:
        return list(scores)
    return [sum(scores[at : at + size]) / size for at in range(0, len(scores) - size + 1, size)]
