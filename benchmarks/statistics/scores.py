"""The rule for scores, simulated like that for passes, and beside it: what passes alone would see.

Scores are made up, as rates are: some vary little, some much, some come in tenths, some are 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from benchmarks.statistics.graded_runs import Draw, GradedRun, simulate_scores
from benchmarks.statistics.lines import Line
from gateval.domain.statistics.design import FIXTURES, LookResult, design, fixture_share, looks
from gateval.domain.statistics.power import RunSettings
from gateval.domain.statistics.walk import walk

UNITS = 20
PASS_SCORE = 0.8

BUDGET = 0.05
"""P(an unchanged agent blocks), promised for scores of any kind."""

FEWER = 4
"""A run of scores takes longer than one of passes, so there are that many times fewer."""


@dataclass(frozen=True)
class Kind:
    """Scores as some judge or program gives them, for a mean in [0, 1]; `fallen` is a break."""

    name: str
    draw: Callable[[float], Draw]
    mean: float
    fallen: float
    bar: float


def _passes(rate: float) -> Draw:
    return lambda random: float(random.random() < rate)


def _noisy(spread: float) -> Callable[[float], Draw]:
    return lambda mean: lambda random: min(1.0, max(0.0, random.gauss(mean, spread)))


def _tenths(mean: float) -> Draw:
    return lambda random: round(10 * random.betavariate(10 * mean, 10 * (1 - mean))) / 10


KINDS = (
    Kind("0 or 1", _passes, 0.95, 0.1, 0.75),
    Kind("spread .05", _noisy(0.05), 0.9, 0.75, 0.8),
    Kind("spread .15", _noisy(0.15), 0.8, 0.4, 0.85),
    Kind("tenths", _tenths, 0.9, 0.5, 0.9),
)


def lines(runs: int) -> Iterator[Line]:
    """Yield the lines, from a part of `runs` simulated runs for each figure."""
    for reps in (1, 3):
        for kind in KINDS:
            yield from _kind(kind, reps, max(1, runs // FEWER))


def _kind(kind: Kind, reps: int, runs: int) -> Iterator[Line]:
    setting = f"scores, {kind.name}, {UNITS} units, {reps} a side"
    same, fallen = kind.draw(kind.mean), kind.draw(kind.fallen)
    lower = kind.draw(kind.mean - 0.05)
    calm = _measure(reps, [(same, same)] * UNITS, runs)
    yield Line(setting, "unchanged: blocked", _share(calm), bar=BUDGET)
    yield Line(setting, "unchanged: trials / planned", _trials(calm) / (2 * UNITS * reps), "×")
    broken = _measure(reps, [(same, fallen), *[(same, same)] * (UNITS - 1)], runs)
    found = sum(0 in run.regressed for run in broken) / runs
    what = f"one from {kind.mean:g} to {kind.fallen:g}: found"
    yield Line(setting, what, found, bar=kind.bar, least=True)
    yield Line(setting, f"{what} by passes at .8", _by_passes(reps, same, fallen, runs))
    slipped = _measure(reps, [(same, lower)] * UNITS, runs)
    yield Line(setting, "all down 5 points: blocked", _share(slipped))


def _measure(reps: int, units: list[tuple[Draw, Draw]], runs: int) -> list[GradedRun]:
    random = Random(reps)
    return [simulate_scores(random, units, RunSettings(reps_per_fixture=reps)) for _ in range(runs)]


def _share(runs: list[GradedRun]) -> float:
    return sum(run.blocked for run in runs) / len(runs)


def _trials(runs: list[GradedRun]) -> float:
    return sum(run.base_trials + run.head_trials for run in runs) / len(runs)


def _by_passes(reps: int, base: Draw, head: Draw, runs: int) -> float:
    """How often the rule for passes finds the same break, each score being a pass from .8 on."""
    random, schedule = Random(reps), looks(reps)
    rule, most = design(schedule, fixture_share(FIXTURES, UNITS)), schedule[-1]
    found = 0
    for _ in range(runs):
        old = [base(random) >= PASS_SCORE for _ in range(most.base)]
        new = [head(random) >= PASS_SCORE for _ in range(most.head)]
        found += walk(rule, old, new).step is LookResult.REGRESSED
    return found / runs
