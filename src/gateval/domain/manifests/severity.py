"""How much a fixture, an assertion or a violation matters."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field


class Severity(StrEnum):
    """From `low` to `critical`."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


DEFAULT_WEIGHTS: dict[Severity, float] = {
    Severity.LOW: 0.5,
    Severity.MEDIUM: 1.0,
    Severity.HIGH: 2.0,
    Severity.CRITICAL: 4.0,
}

LEAST_WEIGHT = 0.001

Weight = Annotated[float, Field(ge=LEAST_WEIGHT, le=1000)]
"""How much something counts beside others. Outside of these bounds, sums would lose what counts
little, or be no numbers any more."""


def _none_or_enough(weight: float) -> float:
    if 0 < weight < LEAST_WEIGHT:
        raise ValueError(f"Must be 0, or at least {LEAST_WEIGHT}, but is {weight:g}.")
    return weight


AssertionWeight = Annotated[float, Field(ge=0, le=1000), AfterValidator(_none_or_enough)]
"""How much an assertion counts in its fixture's score; 0 is not at all."""

AnyWeight = Annotated[float, Field(ge=0, le=1_000_000)]
"""The same of an assertion that a file of another tool may have weighed."""
