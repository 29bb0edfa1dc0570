"""Whole runs on made-up rates: they keep the promises, and agree with the exact figures."""

from __future__ import annotations

from random import Random

import pytest

from gateval.domain.statistics.design import design, looks
from gateval.domain.statistics.power import Rates, Run, RunSettings, simulate, simulated
from gateval.domain.statistics.walk import expected, power
from tests.helpers.tiers import examples

STEADY = Rates(base=(0.95,) * 20, head=(0.95,) * 20)
BROKEN = Rates(base=(0.95,) * 20, head=(0.1, *(0.95,) * 19))
RUNS = examples(600)


def share(runs: list[Run]) -> float:
    return sum(run.blocked for run in runs) / len(runs)


def test_an_unchanged_agent_is_left_alone_at_little_cost() -> None:
    runs = list(simulated(1, [STEADY], RunSettings(), RUNS))
    assert share(runs) <= 0.01
    assert sum(run.head_trials for run in runs) / RUNS <= 1.25 * 20
    assert all(run.base_trials == run.head_trials for run in runs)


def test_a_broken_fixture_is_found_as_often_as_counted_exactly() -> None:
    rule = design(looks(1), 0.03 / 20)
    runs = list(simulated(2, [BROKEN], RunSettings(), RUNS))
    found = sum((0, 0) in run.regressed for run in runs) / RUNS
    assert found == pytest.approx(power(rule, 0.95, 0.1), abs=4 * (0.83 * 0.17 / RUNS) ** 0.5)
    least = expected(rule, 0.95, 0.1).head + 19 * expected(rule, 0.95, 0.95).head
    mean = sum(run.head_trials for run in runs) / RUNS
    assert least - 1 <= mean <= least + 3


def test_the_promise_holds_where_it_is_hardest_to_keep() -> None:
    """Two Evals of three fixtures at a rate of one half; the bound is 5 %."""
    coin = Rates(base=(0.5,) * 3, head=(0.5,) * 3)
    runs = list(simulated(3, [coin, coin], RunSettings(reps_per_fixture=3), examples(2000)))
    assert share(runs) <= 0.05


@pytest.mark.parametrize("stored", [0, 10])
def test_broad_slippage_is_found_where_no_fixture_is_broken(stored: int) -> None:
    slipped = Rates(base=(0.9,) * 60, head=(0.7,) * 60)
    count = examples(100)
    runs = simulated(4, [STEADY, slipped], RunSettings(reps_per_fixture=3, stored=stored), count)
    assert sum(run.slipped == (1,) for run in runs) >= 0.9 * count


def test_a_stored_baseline_from_better_days_is_not_held_against_head() -> None:
    """Base and head of today are 10 points below the stored trials: a drift, no regression."""

    class Drifted(Random):
        """The first ten draws of each fixture, the stored ones, pass too often."""

        draws = 0

        def random(self) -> float:
            self.draws += 1
            return super().random() - (0.15 if self.draws <= 400 else 0)

    same = Rates(base=(0.8,) * 40, head=(0.8,) * 40)
    runs = [simulate(Drifted(seed), [same], RunSettings(stored=10)) for seed in range(60)]
    assert sum(bool(run.slipped) for run in runs) <= 12


def test_equal_seeds_give_equal_runs() -> None:
    first, second = (list(simulated(7, [BROKEN, STEADY], RunSettings(), 5)) for _ in range(2))
    assert first == second
    assert first != list(simulated(8, [BROKEN, STEADY], RunSettings(), 5))


def test_stored_trials_are_not_counted_as_made() -> None:
    run = simulate(Random(1), [Rates(base=(1.0,) * 5, head=(1.0,) * 5)], RunSettings(stored=10))
    assert (run.base_trials, run.head_trials, run.blocked) == (0, 5, False)
