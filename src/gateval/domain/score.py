"""A score: measured, measured in part, or not at all. No number stands for what nobody measured."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Measured(NamedTuple):
    """A score in [0, 1] of which every part was measured."""

    value: float


class Partly(NamedTuple):
    """Where a score in [0, 1] lies, however what is missing would have ended: `measured` of `of`
    trials say something.
    """

    low: float
    high: float
    measured: int = 0
    of: int = 0


class NotMeasured(NamedTuple):
    """Nothing was measured: there is no score, not even an interval."""


Score: TypeAlias = Measured | Partly | NotMeasured


def score_of(low: float | None, high: float | None, measured: int = 0, of: int = 0) -> Score:
    """Return the score between these ends, which are None where nothing was measured."""
    if low is None or high is None:
        return NotMeasured()
    return Measured(low) if low == high and measured == of else Partly(low, high, measured, of)


def ends(score: Score) -> tuple[float, float] | None:
    """Return the least and the highest that a score can be; None where nothing was measured."""
    match score:
        case Measured(value):
            return value, value
        case Partly(low, high):
            return low, high
        case NotMeasured():
            return None
