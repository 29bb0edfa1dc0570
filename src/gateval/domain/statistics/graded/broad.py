"""The rules for several units with scores: all of them together, and one axis, one quality of them.

Both are the paired permutation test at fixed looks. An axis may have fallen whatever the others
did. Few units have few pairs, so that no p-value can be small there: for these a third look is
added, and looks that are too early to tell anything go on where the mean fell by the least drop.
The share is split equally among the looks that can tell (union bound), so the chance that an
unchanged axis ever regresses is at most the share, however its scores are distributed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import NamedTuple

from gateval.domain.statistics.broad import GO_ON, LEAST_DROP, Broad, step_of
from gateval.domain.statistics.design import LookResult
from gateval.domain.statistics.graded.grid import Scores, sample
from gateval.domain.statistics.graded.paired import differences, sign_flip
from gateval.domain.statistics.looks import Look, broad_looks


def graded_broad_step(
    looks: Sequence[Look],
    look: int,
    units: Sequence[tuple[Scores, Scores]],
    share: float,
    *,
    found: bool = False,
    least_drop: float = LEAST_DROP,
) -> Broad:
    """Return what follows at look number `look`, from 0, for (base, head) scores of each unit.

    As `broad_step`, with the paired permutation test: the first trials of a look, as many as both
    sides have, are paired one by one. The chance of a false alarm is at most `share`.
    """
    means, moved = _paired(units, looks[look])
    p_value = sign_flip(moved)
    return step_of(looks, look, means, p_value, share, found=found, least_drop=least_drop)


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
    means, moved = _paired(units, axis.looks[index])
    if not means:
        return Broad(step=LookResult.STOP, p_value=1.0, base=0.0, head=0.0, at=index)
    base, head = (fsum(side) / len(means) for side in zip(*means, strict=True))
    p_value = sign_flip(moved)
    step = LookResult.STOP
    if base - head >= axis.least_drop - _ROUNDING:
        early = 0.5 ** len(moved) > GO_ON
        if p_value <= axis.part(index, len(units)):
            step = LookResult.REGRESSED
        elif (early or p_value <= GO_ON) and index + 1 < len(axis.looks) and not found:
            step = LookResult.GO_ON
    return Broad(step=step, p_value=p_value, base=base, head=head, at=index)


def axis_rose(units: Sequence[tuple[Scores, Scores]]) -> float:
    """Return the one-sided exact p-value that an axis rose: the mirrored test."""
    return sign_flip(-one for base, head in units for one in differences(base, head))


def _paired(
    units: Sequence[tuple[Scores, Scores]], look: Look
) -> tuple[list[tuple[float, float]], list[float]]:
    """Return both means of each unit with a pair at a look, and the differences of all pairs."""
    means, moved = [], []
    for base, head in units:
        first = base[: look.base], head[: look.head]
        if pairs := differences(*first):
            means.append((sample(first[0]).mean, sample(first[1]).mean))
            moved += pairs
    return means, moved
