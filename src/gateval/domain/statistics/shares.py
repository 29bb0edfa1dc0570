"""How the budget for false alarms is split: over Evals, then over the fixtures of each."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum

FIXTURES = 0.03
"""P(any unchanged fixture of a run is called regressed) is at most this."""

BROAD = 0.02
"""P(any Eval of an unchanged agent is called broadly slipped) is at most this."""


def split(budget: float, weights: Mapping[str, float]) -> dict[str, float]:
    """Return the part of `budget` that each name gets, in proportion to its weight.

    Equal weights split it equally; the parts sum to at most `budget` (Bonferroni: the chance of any
    false alarm is at most the sum). Raises ValueError unless all weights are finite and above 0.
    """
    total = fsum(weights.values())
    if any(not 0 < weight < float("inf") for weight in weights.values()):
        raise ValueError("A weight must be a finite number above 0.")
    return {name: budget * (weight / total) for name, weight in weights.items()}


def fixture_share(eval_share: float, fixtures: int) -> float:
    """Return the share of each of an Eval's `fixtures` that are compared, at least one."""
    if fixtures < 1:
        raise ValueError("A share is for fixtures that are compared; there is none.")
    return eval_share / fixtures
