"""The rule for axes of scores: what it may spend, what it finds, and that it keeps its promise."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.statistics.axes import simulate
from gateval.domain.statistics.design import BROAD, LookResult, joint_shares
from gateval.domain.statistics.graded import Axis, axis_looks, axis_rose, axis_step
from tests.helpers.tiers import examples

SHARE = joint_shares(BROAD, 0, 3).axis


@given(st.integers(1, 40), st.integers(1, 300), st.floats(1e-6, 0.02))
def test_the_looks_spend_no_more_than_the_share(reps: int, units: int, share: float) -> None:
    looks = axis_looks(reps, units)
    axis = Axis(looks, share)
    parts = [axis.part(index, units) for index in range(len(looks))]
    assert sum(parts) <= share * (1 + 1e-9)
    for look, part in zip(looks, parts, strict=True):
        assert part == 0 or 0.5 ** (look.head * units) <= part
    assert [look.head for look in looks] == sorted({look.head for look in looks})


@pytest.mark.parametrize(("units", "heads"), [(1, [1, 6, 15]), (2, [1, 6]), (40, [1, 6])])
def test_few_units_have_a_third_look(units: int, heads: list[int]) -> None:
    assert [look.head for look in axis_looks(1, units)] == heads


def test_a_fall_of_one_axis_is_found_and_a_rise_is_none() -> None:
    axis = Axis(axis_looks(1, 12), SHARE)
    fell = [([1.0], [0.5])] * 12
    assert axis_step(axis, 0, fell).step is LookResult.REGRESSED
    rose = [([0.5], [1.0])] * 12
    assert axis_step(axis, 0, rose).step is LookResult.STOP
    assert axis_rose(rose) == 0.5**12


def test_one_task_goes_on_before_anything_can_be_told() -> None:
    axis = Axis(axis_looks(1, 1), SHARE)
    said = axis_step(axis, 0, [([1.0], [0.0])])
    assert (said.step, axis.part(0, 1)) == (LookResult.GO_ON, 0.0)
    assert axis_step(axis, 0, [([1.0], [0.0])], found=True).step is LookResult.STOP
    assert axis_step(axis, 0, [([1.0], [0.96])]).step is LookResult.STOP
    assert axis_step(axis, 2, [([1.0] * 15, [0.0] * 15)]).step is LookResult.REGRESSED


def test_lost_trials_have_no_say() -> None:
    axis = Axis(axis_looks(1, 2), SHARE)
    lost: list[tuple[list[float | None], list[float | None]]] = [([None], [0.0]), ([1.0], [None])]
    assert axis_step(axis, 0, lost).step is LookResult.STOP


@pytest.mark.parametrize("tasks", [1, 10])
def test_an_unchanged_agent_is_blocked_in_at_most_one_of_twenty_runs(tasks: int) -> None:
    def draw(random: Random, mean: float) -> float:
        return min(1.0, max(0.0, random.gauss(mean, 0.1)))

    random, runs, same = Random(7), examples(300), (0.9, 0.9, 0.9)
    blocked = sum(simulate(random, tasks, draw, same, same).blocked for _ in range(runs))
    assert blocked / runs <= 0.05 + 2 * (0.05 * 0.95 / runs) ** 0.5
