"""What everybody may know of how a sealed Eval ended."""

from __future__ import annotations

from math import log2
from typing import Self

from pydantic import Field, model_validator

from gateval.domain.base import Name, Value
from gateval.domain.verdicts import PRECEDENCE, EvalsVerdict

STEPS = 20
"""Steps of a published rate: each is 0.05."""

LEAST_FIXTURES = 10
"""Of an Eval with fewer fixtures the verdict alone is published."""

_STATES = len(PRECEDENCE) + 2
"""Verdicts, and two that differ: by whether a label may accept it, and by a budget used up."""

_NO_RATE = 1


class SealedVerdict(Value):
    """How a sealed Eval ended; all that is published of its trials.

    `accepted` is its verdict where somebody who may accepts a lower bar. `rate` is the share of the
    planned trials of head that passed, fixtures alike whatever their severity, in steps of 0.05;
    None where it is not told. `digest` is a keyed one of the whole, empty without a key. `bits` is
    the most that this gives away.
    """

    eval: Name
    verdict: EvalsVerdict
    accepted: EvalsVerdict
    rate: float | None = Field(default=None, ge=0, le=1)
    digest: str = Field(default="", pattern=r"^([0-9a-f]{64}@[0-9a-f]{8})?$")
    bits: float = Field(default=0, ge=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _a_rate_is_coarse(self) -> Self:
        if self.rate is not None and self.rate != in_steps(self.rate):
            raise ValueError("a rate of a sealed Eval is published in steps of 0.05")
        return self


def in_steps(rate: float) -> float:
    """Return a rate as it may be published."""
    return round(rate * STEPS) / STEPS


def bits_of(*, fixtures: int, rates: bool) -> float:
    """Return how much one verdict gives away at most: log2 of all that could stand there.

    `rates` says that a rate may be told; of few fixtures none ever is.
    """
    rated = rates and fixtures >= LEAST_FIXTURES
    return round(log2(_STATES * (STEPS + 1 + _NO_RATE if rated else 1)), 2)
