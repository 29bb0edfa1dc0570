"""The rule for one fixture: a finite group-sequential exact design, calibrated by counting.

At each look the p-value of Fisher's exact test decides: at most the cut, and head has regressed; at
most the escalation limit, and more trials are made; else the fixture stops. At an entry look, which
has too few trials for a p-value, a fixture goes on if head's rate is below base's. The cut is the
largest for which, at equal rates, whatever they are, the chance of ever meeting it is at most the
share of the false-alarm budget. The regions are monotone: more passes of head never lead to
regressed sooner. So equal rates are the worst case of "head is not worse".
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import cache

from gateval.domain.base import Value
from gateval.domain.statistics.bernstein import coefficients, never_above
from gateval.domain.statistics.looks import Look
from gateval.domain.statistics.paths import Limits, arrivals, regressed_by_passes
from gateval.domain.statistics.regions import NEVER, attainable, going_on_region, regressed_region

ESCALATION = 0.25
"""The largest p-value at which a fixture goes on to the next look."""

WEAKEST_CUT = 0.05
"""No p-value above it is ever called regressed, however large the share is."""


class LookResult(StrEnum):
    """What follows from one look."""

    REGRESSED = "regressed"
    GO_ON = "go on"
    STOP = "stop"


class Design(Value):
    """A calibrated design.

    `regressed` and `going_on` hold, for each look and each count of base's passes, the most passes
    of head that still lead there (-1: none does).
    """

    looks: tuple[Look, ...]
    share: float
    escalation: float
    cut: float
    regressed: tuple[tuple[int, ...], ...]
    going_on: tuple[tuple[int, ...], ...]

    def __hash__(self) -> int:
        return hash((self.share, self.cut))


def step(design: Design, look: int, base_passes: int, head_passes: int) -> LookResult:
    """Return what follows from the passes at look number `look`, counted from 0.

    A look is only reached by going on at all looks before it: a fixture that stopped, by the rule
    or for cost, is never looked at again.
    """
    if head_passes <= design.regressed[look][base_passes]:
        return LookResult.REGRESSED
    return (
        LookResult.GO_ON if head_passes <= design.going_on[look][base_passes] else LookResult.STOP
    )


@cache
def design(looks: tuple[Look, ...], share: float, escalation: float = ESCALATION) -> Design:
    """Return the design for `looks` whose chance of a false alarm is at most `share`.

    The stops are counted in; they do not depend on the cut, so the chance only grows with it. The
    cut is the largest attainable p-value that keeps the share, and at most `WEAKEST_CUT`; 0 if none
    does. Raises ValueError if `share` is not in (0, 1).
    """
    if not 0 < share < 1:
        raise ValueError(f"A share of the false-alarm budget lies between 0 and 1, not at {share}.")
    going_on = going_on_region(looks, escalation)
    cuts = attainable(looks, min(WEAKEST_CUT, escalation))
    low, high = 0, len(cuts)
    while low < high:
        middle = (low + high + 1) // 2
        chance = _false_alarm(looks, regressed_region(looks, cuts[middle - 1]), going_on)
        low, high = (middle, high) if never_above(chance, share) else (low, middle - 1)
    cut = cuts[low - 1] if low else 0.0
    return Design(
        looks=looks,
        share=share,
        escalation=escalation,
        cut=cut,
        regressed=regressed_region(looks, cut),
        going_on=going_on,
    )


def first_looks(design: Design, many: int) -> Design:
    """Return what is left of a design where nobody gets further than its first `many` looks.

    The cut stays: it is that of the whole, so the chance of a false alarm only falls.
    """
    if many >= len(design.looks):
        return design
    return design.model_copy(
        update={
            "looks": design.looks[:many],
            "regressed": design.regressed[:many],
            "going_on": design.going_on[:many],
        }
    )


def counted_only(look: Look) -> Design:
    """Return the design of a fixture that is not tested by itself: one look without effect."""
    never = ((NEVER,) * (look.base + 1),)
    return Design(
        looks=(look,), share=0.0, escalation=0.0, cut=0.0, regressed=never, going_on=never
    )


def _false_alarm(looks: Sequence[Look], regressed: Limits, going_on: Limits) -> list[float]:
    counts = regressed_by_passes(looks, arrivals(looks, regressed, going_on))
    return coefficients(counts, looks[-1].trials)
