"""How the budget for false alarms is split: over Evals, then over the fixtures of each."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum
from typing import NamedTuple

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


SILENCE_PART = 0.1
"""The part of an Eval's budget for fixtures that goes to those tested with their family only.

Of these nothing is tested alone but whether they fall silent.
"""


class EvalErrorBudget(NamedTuple):
    """The shares of one Eval: of a fixture tested alone, of the silence of one that is tested with
    its family only, and of all tests of several fixtures.
    """

    fixture: float
    silence: float
    joint: float


def eval_shares(fixtures: float, broad: float, alone: int, together: int) -> EvalErrorBudget:
    """Return how an Eval splits its parts of both budgets; what nobody needs goes to joint tests.

    `alone` and `together` count the fixtures tested alone, and with their family only. All tests
    together spend at most `fixtures + broad` (Bonferroni).
    """
    silence = fixtures * SILENCE_PART if together else 0.0
    rest = fixtures - silence
    return EvalErrorBudget(
        fixture=fixture_share(rest, alone) if alone else 0.0,
        silence=silence / together if together else 0.0,
        joint=broad if alone else broad + rest,
    )


AXES_PART = 0.4
"""The part of an Eval's budget for joint tests that goes to its axes, if it has several."""


class JointErrorBudget(NamedTuple):
    """The shares of the test of all fixtures, of each family, and of each axis."""

    whole: float
    family: float
    axis: float


def joint_shares(joint: float, families: int, axes: int = 0) -> JointErrorBudget:
    """Return how the joint tests split their share (Bonferroni).

    Of what the axes leave, the test of all fixtures keeps half, so that many small families do not
    silence it. Axes get equal parts: none of them is known to matter more than another.
    """
    own = joint * AXES_PART if axes else 0.0
    rest = joint - own
    each = own / axes if axes else 0.0
    if not families:
        return JointErrorBudget(rest, 0.0, each)
    return JointErrorBudget(rest / 2, rest / 2 / families, each)


def fixture_share(eval_share: float, fixtures: int) -> float:
    """Return the share of each of an Eval's `fixtures` that are compared, at least one."""
    if fixtures < 1:
        raise ValueError("A share is for fixtures that are compared; there is none.")
    return eval_share / fixtures
