"""The power of the tests of several units with scores, where each score is 0 or 1.

Such scores are the hardest to tell apart. A pair of trials then says worse, better or neither, and
the paired permutation test is a sign test on those that differ. So all ways through the looks can
be counted, for rates that are the same in every unit. From `COUNTED` pairs on, the normal
distribution takes the place of counting; where the test itself goes over to blocks of pairs, this
counts on as if it did not.

It uses the very functions that decide real runs. It is what `gateval aa` and the benchmarks show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import comb, erf, sqrt
from random import Random
from typing import NamedTuple

from gateval.domain.base import Value
from gateval.domain.statistics.broad import CONFIRMING_TRIALS, GO_ON, broad_step, confirmed, first
from gateval.domain.statistics.design import (
    BROAD,
    FIXTURES,
    Design,
    Look,
    LookResult,
    broad_looks,
    design,
    fixture_share,
    looks,
)
from gateval.domain.statistics.walk import FRESH, SEEN, borne_out, counted, least_drop_found, walk

COUNTED = 96
"""Pairs of the last look up to which ways are counted one by one."""

_PRECISION = 1e-3
_STEPS = 200
_ROUNDING = 1e-9


class PairedRule(NamedTuple):
    """A test of several units at fixed looks.

    `pairs` are those of all units together at each look, `parts` the largest p-values that mean
    regressed there (0: none does). A look goes on up to `GO_ON`, or where `early` and it has too
    few pairs for such a p-value; never where the mean fell by less than `least_drop`.
    """

    pairs: tuple[int, ...]
    parts: tuple[float, ...]
    least_drop: float
    early: bool = False


def paired_power(rule: PairedRule, base_rate: float, head_rate: float) -> float:
    """Return P(regressed) in [0, 1] for these rates of 1 in all units, with all stops."""
    worse, better = base_rate * (1 - head_rate), (1 - base_rate) * head_rate
    if rule.pairs[-1] > COUNTED:
        return _by_normal(rule, worse, better)
    found, before = 0.0, 0
    ways: dict[tuple[int, int], float] = {(0, 0): 1.0}
    for index, pairs in enumerate(rule.pairs):
        ends = _ends(pairs, rule.parts[index], rule.least_drop)
        steps = _ways(pairs - before, worse, better)
        if index + 1 == len(rule.pairs):
            return found + _ending(ways, steps, ends)
        limit = 1.0 if rule.early and 0.5**pairs > GO_ON else GO_ON
        on = _ends(pairs, limit, rule.least_drop)
        reached: dict[tuple[int, int], float] = {}
        for (down, up), chance in ways.items():
            for (more_down, more_up), step in steps:
                now = (down + more_down, up + more_up)
                if now[1] <= ends[now[0]]:
                    found += chance * step
                elif now[1] <= on[now[0]]:
                    reached[now] = reached.get(now, 0.0) + chance * step
        ways, before = reached, pairs
    return found


@cache
def smallest_fall(rule: PairedRule, base_rate: float, wanted: float = SEEN) -> float | None:
    """Return the smallest fall below `base_rate` that is found with power `wanted`, or None.

    Of all units alike; rounded up to a thousandth.
    """
    return least_drop_found(
        lambda head: paired_power(rule, base_rate, head), base_rate, wanted, _PRECISION
    )


def _ways(pairs: int, worse: float, better: float) -> list[tuple[tuple[int, int], float]]:
    """Return the chance of each number of pairs that are worse and better."""
    same = 1 - worse - better
    return [
        ((down, up), comb(pairs, down) * comb(pairs - down, up) * chance)
        for down in range(pairs + 1)
        for up in range(pairs + 1 - down)
        if (chance := worse**down * better**up * same ** (pairs - down - up)) > 0
    ]


@cache
def _ends(pairs: int, limit: float, least_drop: float) -> tuple[int, ...]:
    """Return, for each number of worse pairs, the most better ones with a p-value in the limit and
    a fall that matters; -1: none.
    """
    found = []
    for down in range(pairs + 1):
        most = -1
        for up in range(min(down, pairs - down) + 1):
            fell = (down - up) / pairs >= least_drop - _ROUNDING
            if not fell or _p_value(down, up) > limit:
                break
            most = up
        found.append(most)
    return tuple(found)


@cache
def _p_value(down: int, up: int) -> float:
    many = down + up
    return sum(comb(many, one) for one in range(down, many + 1)) / float(2**many)


def _ending(
    ways: dict[tuple[int, int], float],
    steps: Sequence[tuple[tuple[int, int], float]],
    ends: Sequence[int],
) -> float:
    """Return the chance that the last look says regressed."""
    last = max((down for (down, _), _ in steps), default=0)
    sums: list[list[float]] = [[0.0] for _ in range(last + 1)]
    for (down, _), chance in steps:  # they come with the number of better pairs rising
        sums[down].append(sums[down][-1] + chance)
    total = 0.0
    for (down, up), chance in ways.items():
        for more, row in enumerate(sums):
            room = ends[down + more] - up if down + more < len(ends) else -1
            if room >= 0:
                total += chance * row[min(room + 1, len(row) - 1)]
    return total


def _by_normal(rule: PairedRule, worse: float, better: float) -> float:
    """Return the same by the normal distribution of the fall at one or two looks."""
    fall, spread = worse - better, worse + better - (worse - better) ** 2
    if not spread:
        return 1.0 if fall >= rule.least_drop else 0.0
    bars = [_bar(rule, index, worse + better, rule.parts[index]) for index in range(2)][
        : len(rule.pairs)
    ]
    sds = [sqrt(spread / pairs) for pairs in rule.pairs]
    found = 1 - _below((bars[0] - fall) / sds[0])
    if len(rule.pairs) == 1:
        return found
    first, last = rule.pairs[0], rule.pairs[-1]
    low, high = _bar(rule, 0, worse + better, GO_ON), bars[0]
    more = sqrt(spread / (last - first))
    wide = (high - low) / _STEPS
    for step in range(_STEPS):
        at = low + (step + 0.5) * wide
        here = _below((at + wide / 2 - fall) / sds[0]) - _below((at - wide / 2 - fall) / sds[0])
        needed = (bars[1] * last - at * first) / (last - first)
        found += here * (1 - _below((needed - fall) / more))
    return found


def _bar(rule: PairedRule, index: int, differing: float, limit: float) -> float:
    """Return the fall of the mean from which a look says so."""
    pairs = rule.pairs[index] if index < len(rule.pairs) else rule.pairs[-1]
    if limit <= 0:
        return 1.0
    return max(rule.least_drop, (_upper(limit) * sqrt(differing * pairs) + 1) / pairs)


def _below(value: float) -> float:
    return (1 + erf(value / sqrt(2))) / 2


@cache
def _upper(share: float) -> float:
    """Return how many standard deviations a share of chances lies above."""
    low, high = 0.0, 10.0
    while high - low > _PRECISION / 10:
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - _below(middle) > share else (low, middle)
    return high


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
    for fixture in fixtures:
        missing = CONFIRMING_TRIALS - len(fixture.fresh)
        fixture.up_to(Look(base=len(fixture.base) + max(0, missing), head=look.head))
    return confirmed(
        [
            (counted(fixture.fresh[:CONFIRMING_TRIALS]), counted(fixture.head[: look.head]))
            for fixture in fixtures
        ]
    )
