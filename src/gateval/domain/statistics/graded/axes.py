"""The rule for one axis of several units: has one quality fallen, whatever the others did?

It is the paired permutation test of all units on that axis, as in `broad.py`, at the same looks.
Few units have few pairs, so that no p-value can be small there: for these a third look is added,
and looks that are too early to tell anything go on where the mean fell by the least drop. The
share is split equally among the looks that can tell (union bound), so the chance that an unchanged
axis ever regresses is at most the share, however its scores are distributed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import NamedTuple

from gateval.domain.statistics.broad import GO_ON, LEAST_DROP, Broad
from gateval.domain.statistics.design import LookResult
from gateval.domain.statistics.graded.grid import Scores, sample
from gateval.domain.statistics.graded.paired import differences, sign_flip
from gateval.domain.statistics.looks import Look, broad_looks

PAIRS = 12
"""Pairs from which a clear fall can be told with the share of one axis among several."""

_LAST = 15
_ROUNDING = 1e-9


def axis_looks(repetitions: int, units: int) -> tuple[Look, ...]:
    """Return the looks at an axis of so many units, for which so many trials a side are planned."""
    looks = broad_looks(repetitions)
    last = looks[-1].head
    if last * units >= PAIRS or last >= _LAST:
        return looks
    return (*looks, Look(base=_LAST, head=_LAST))


class Axis(NamedTuple):
    """How an axis is looked at: its looks, its share, and the least drop of its mean."""

    looks: Sequence[Look]
    share: float
    least_drop: float = LEAST_DROP

    def part(self, index: int, units: int) -> float:
        """Return the largest p-value that means regressed at a look, 0 where none can."""
        able = [at for at, look in enumerate(self.looks) if self.share]
        while able and 0.5 ** (self.looks[able[0]].head * units) > self.share / len(able):
            del able[0]
        return self.share / len(able) if index in able else 0.0


def axis_step(
    axis: Axis, index: int, units: Sequence[tuple[Scores, Scores]], *, found: bool = False
) -> Broad:
    """Return what follows at look number `index`, from 0, for (base, head) scores of each unit.

    `found` says that something else blocks already: then no further look is bought.
    """
    at = axis.looks[index]
    first = [(base[: at.base], head[: at.head]) for base, head in units]
    pairs = [differences(base, head) for base, head in first]
    known = [both for both, pair in zip(first, pairs, strict=True) if pair]
    if not known:
        return Broad(step=LookResult.STOP, p_value=1.0, base=0.0, head=0.0, at=index)
    base = fsum(sample(one).mean for one, _ in known) / len(known)
    head = fsum(sample(one).mean for _, one in known) / len(known)
    found_pairs = [one for pair in pairs for one in pair]
    p_value = sign_flip(found_pairs)
    step = LookResult.STOP
    if base - head >= axis.least_drop - _ROUNDING:
        early = 0.5 ** len(found_pairs) > GO_ON
        if p_value <= axis.part(index, len(units)):
            step = LookResult.REGRESSED
        elif (early or p_value <= GO_ON) and index + 1 < len(axis.looks) and not found:
            step = LookResult.GO_ON
    return Broad(step=step, p_value=p_value, base=base, head=head, at=index)


def axis_rose(units: Sequence[tuple[Scores, Scores]]) -> float:
    """Return the one-sided exact p-value that an axis rose: the mirrored test."""
    return sign_flip(-one for base, head in units for one in differences(base, head))
