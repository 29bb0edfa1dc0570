"""Whole runs on made-up pass rates: how often the rules block, why, and what they spend.

It uses the very functions that decide real runs. It is what `gateval aa` and the benchmarks show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from gateval.domain.base import Value
from gateval.domain.statistics.broad import (
    CONFIRMING_TRIALS,
    broad_step,
    confirmed,
    first,
)
from gateval.domain.statistics.design import Design, Look, LookResult, broad_looks, design, looks
from gateval.domain.statistics.error_budget import BROAD, FIXTURES, fixture_share
from gateval.domain.statistics.walk import FRESH, borne_out, counted, walk


class Rates(Value):
    """The true pass rates of one Eval's fixtures, the same number on both sides.

    `stored` are those of base when its stored trials were made; empty: what they are now.
    """

    base: tuple[float, ...]
    head: tuple[float, ...]
    stored: tuple[float, ...] = ()


class RunSettings(Value):
    """The settings of a run."""

    reps_per_fixture: int = 1
    stored: int = 0


class Run(Value):
    """One simulated run.

    It has the (Eval, fixture) pairs that regressed, the Evals that slipped broadly, both by their
    places, and the trials made, without the stored ones.
    """

    regressed: tuple[tuple[int, int], ...]
    slipped: tuple[int, ...]
    base_trials: int
    head_trials: int

    @property
    def blocked(self) -> bool:
        """Whether anything blocks."""
        return bool(self.regressed or self.slipped)


class _Fixture:
    """The trials of one fixture, drawn when they are asked for."""

    def __init__(
        self, random: Random, base: float, head: float, stored: int, before: float
    ) -> None:
        self._draw = random.random
        self._rates = base, head
        self._stored = stored
        self.base = [self._draw() < before for _ in range(stored)]
        self.head: list[bool] = []

    def up_to(self, look: Look) -> None:
        base, head = self._rates
        self.base += [self._draw() < base for _ in range(look.base - len(self.base))]
        self.head += [self._draw() < head for _ in range(look.head - len(self.head))]

    def regresses(self, rule: Design) -> bool:
        step = LookResult.GO_ON
        while step is LookResult.GO_ON:
            now = walk(rule, self.base, self.head)
            step = now.step
            self.up_to(now.look)
        if step is not LookResult.REGRESSED or not self._stored:
            return step is LookResult.REGRESSED
        self.up_to(Look(base=self._stored + FRESH, head=1))
        return borne_out(counted(self.fresh[: max(FRESH, now.look.base - self._stored)]), now.head)

    @property
    def fresh(self) -> list[bool]:
        """Base trials that are not stored."""
        return self.base[self._stored :]


def simulate(random: Random, evals: Sequence[Rates], rule: RunSettings) -> Run:
    """Return one run of all `evals`; the budgets are split equally over them."""
    regressed: list[tuple[int, int]] = []
    slipped: list[int] = []
    base_trials = head_trials = 0
    for number, rates in enumerate(evals):
        before = rates.stored or rates.base
        fixtures = [
            _Fixture(random, base, head, rule.stored, old)
            for base, head, old in zip(rates.base, rates.head, before, strict=True)
        ]
        share = fixture_share(FIXTURES / len(evals), len(fixtures))
        chosen = design(looks(rule.reps_per_fixture, rule.stored), share)
        worse = [index for index, fixture in enumerate(fixtures) if fixture.regresses(chosen)]
        regressed += [(number, index) for index in worse]
        if _slips(fixtures, rule, BROAD / len(evals), found=bool(worse)):
            slipped.append(number)
        base_trials += sum(len(fixture.base) - rule.stored for fixture in fixtures)
        head_trials += sum(len(fixture.head) for fixture in fixtures)
    return Run(
        regressed=tuple(regressed),
        slipped=tuple(slipped),
        base_trials=base_trials,
        head_trials=head_trials,
    )


def simulated(seed: int, evals: Sequence[Rates], rule: RunSettings, runs: int) -> Iterator[Run]:
    """Yield `runs` runs; equal arguments give equal runs on every machine."""
    random = Random(seed)  # noqa: S311 - made-up trials, no secrets
    return (simulate(random, evals, rule) for _ in range(runs))


def _slips(fixtures: Sequence[_Fixture], rule: RunSettings, share: float, *, found: bool) -> bool:
    schedule = broad_looks(rule.reps_per_fixture, rule.stored)
    for index, look in enumerate(schedule):
        for fixture in fixtures:
            fixture.up_to(look)
        strata = [first(look, fixture.base, fixture.head) for fixture in fixtures]
        step = broad_step(schedule, index, strata, share, found=found).step
        if step is not LookResult.GO_ON:
            break
    if step is not LookResult.REGRESSED or not rule.stored:
        return step is LookResult.REGRESSED
    return _still_worse(fixtures, look)


def _still_worse(fixtures: Sequence[_Fixture], look: Look) -> bool:
    for fixture in fixtures:
        missing = CONFIRMING_TRIALS - len(fixture.fresh)
        fixture.up_to(Look(base=len(fixture.base) + max(0, missing), head=look.head))
    return confirmed(
        [
            (counted(fixture.fresh[:CONFIRMING_TRIALS]), counted(fixture.head[: look.head]))
            for fixture in fixtures
        ]
    )
