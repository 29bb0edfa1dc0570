"""Whole runs on made-up scores: how often the rules block, why, and what they spend.

It uses the very functions that decide real runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from gateval.domain.statistics.design import (
    BROAD,
    FIXTURES,
    Look,
    LookResult,
    broad_looks,
    fixture_share,
    looks,
)
from gateval.domain.statistics.graded import GradedRule, graded_broad_step, graded_rule, graded_walk
from gateval.domain.statistics.power import RunSettings

Draw = Callable[[Random], float]
"""A score in [0, 1], drawn anew for each trial."""


class GradedRun(NamedTuple):
    """One simulated run: the units that regressed, whether all slipped, and the trials made."""

    regressed: tuple[int, ...]
    slipped: bool
    base_trials: int
    head_trials: int

    @property
    def blocked(self) -> bool:
        """Whether anything blocks."""
        return bool(self.regressed) or self.slipped


class _Unit:
    """The scores of one unit, drawn when they are asked for."""

    def __init__(self, random: Random, base: Draw, head: Draw) -> None:
        self._random, self._draws = random, (base, head)
        self.base: list[float] = []
        self.head: list[float] = []

    def up_to(self, look: Look) -> None:
        base, head = self._draws
        self.base += [base(self._random) for _ in range(look.base - len(self.base))]
        self.head += [head(self._random) for _ in range(look.head - len(self.head))]

    def regresses(self, rule: GradedRule) -> bool:
        step = LookResult.GO_ON
        while step is LookResult.GO_ON:
            now = graded_walk(rule, self.base, self.head)
            step = now.step
            self.up_to(now.look)
        return step is LookResult.REGRESSED


def simulate_scores(
    random: Random, units: Sequence[tuple[Draw, Draw]], rule: RunSettings
) -> GradedRun:
    """Return one run of one Eval, whose units have these distributions on base and on head."""
    drawn = [_Unit(random, base, head) for base, head in units]
    chosen = graded_rule(looks(rule.reps_per_fixture), fixture_share(FIXTURES, len(units)))
    worse = tuple(index for index, unit in enumerate(drawn) if unit.regresses(chosen))
    slipped = _slips(drawn, rule, found=bool(worse))
    return GradedRun(
        regressed=worse,
        slipped=slipped,
        base_trials=sum(len(unit.base) for unit in drawn),
        head_trials=sum(len(unit.head) for unit in drawn),
    )


def _slips(units: Sequence[_Unit], rule: RunSettings, *, found: bool) -> bool:
    schedule = broad_looks(rule.reps_per_fixture)
    step = LookResult.STOP
    for index, look in enumerate(schedule):
        for unit in units:
            unit.up_to(look)
        pairs = [(unit.base, unit.head) for unit in units]
        step = graded_broad_step(schedule, index, pairs, BROAD, found=found).step
        if step is not LookResult.GO_ON:
            break
    return step is LookResult.REGRESSED
