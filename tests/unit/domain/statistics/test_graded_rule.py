"""The rule for scores: its parts, its steps, lost trials, and the chance of a false alarm."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.statistics.graded_runs import Draw, simulate_scores
from gateval.domain.statistics.design import Look, LookResult, broad_looks, looks, step
from gateval.domain.statistics.graded import (
    LEVELS,
    Scores,
    graded_broad_step,
    graded_rule,
    graded_status,
    graded_walk,
    on_passes,
    watched_only,
)
from gateval.domain.statistics.power import RunSettings
from gateval.domain.statistics.walk import RegressionStatus
from tests.helpers.tiers import examples

ONE, THREE = looks(1), looks(3)


@pytest.mark.parametrize(
    ("schedule", "share", "parts"),
    [
        (ONE, 0.03, (0, 0, 0.01, 0.01, 0.01)),
        (ONE, 0.03 / 20, (0, 0, 0, 0.00075, 0.00075)),
        (THREE, 0.03 / 20, (0, 0.0005, 0.0005, 0.0005)),
        (THREE, 0.9, (0.05, 0.05, 0.05, 0.05)),
        (looks(14), 0.03, (0.03,)),
        (ONE, 1e-9, (0, 0, 0, 0, 0)),
    ],
)
def test_the_share_goes_to_the_looks_that_can_find_something(
    schedule: tuple[Look, ...], share: float, parts: tuple[float, ...]
) -> None:
    rule = graded_rule(schedule, share)
    assert rule.parts == pytest.approx(parts)
    assert sum(rule.parts) <= share * (1 + 1e-12)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1])
def test_a_share_is_a_part(share: float) -> None:
    with pytest.raises(ValueError, match="share"):
        graded_rule(ONE, share)


@pytest.mark.parametrize(
    ("base", "head", "taken", "at"),
    [
        ([], [], LookResult.GO_ON, (1, 1)),
        ([0.9], [0.9], LookResult.STOP, (1, 1)),
        ([0.9], [0.87], LookResult.STOP, (1, 1)),
        ([0.9], [0.85], LookResult.GO_ON, (3, 3)),
        ([0.81], [0.79], LookResult.GO_ON, (3, 3)),
        ([0.9] * 3, [0.8, 0.9, 0.9], LookResult.STOP, (3, 3)),
        ([0.9] * 3, [0.8, 0.8, 0.8], LookResult.GO_ON, (6, 6)),
        ([0.9] * 10, [0.8] * 10, LookResult.REGRESSED, (10, 10)),
        ([0.9] * 15, [0.88] * 15, LookResult.STOP, (1, 1)),
        ([0.801] * 15, [0.799] * 15, LookResult.REGRESSED, (10, 10)),
        ([0.9] * 10, [0.1, None] + [0.1] * 8, LookResult.REGRESSED, (10, 10)),
        ([0.9] + [None] * 9, [0.8] * 10, LookResult.STOP, (3, 3)),
    ],
)
def test_steps(base: Scores, head: Scores, taken: LookResult, at: tuple[int, int]) -> None:
    walk = graded_walk(graded_rule(ONE, 0.03 / 20, 0.8), base, head)
    assert (walk.step, (walk.look.base, walk.look.head)) == (taken, at)


def test_a_unit_that_is_only_watched_never_regresses() -> None:
    rule = watched_only(Look(base=3, head=3))
    assert graded_walk(rule, [1.0] * 3, [0.0] * 3).step is LookResult.STOP


SCORE = st.one_of(st.none(), st.sampled_from((0.0, 0.3, 0.79, 0.8, 0.85, 1.0)))


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(SCORE, min_size=15, max_size=15), st.lists(SCORE, min_size=15, max_size=15), st.data()
)
def test_whatever_a_lost_trial_would_have_scored_it_makes_nothing_regress(
    base: list[float | None], head: list[float | None], data: st.DataObject
) -> None:
    rule = graded_rule(ONE, 0.03, 0.8)
    walk = graded_walk(rule, base, head)
    if walk.step is not LookResult.REGRESSED:
        return
    true_base = [data.draw(st.floats(0, 1)) if one is None else one for one in base]
    true_head = [data.draw(st.floats(0, 1)) if one is None else one for one in head]
    index = rule.looks.index(walk.look)
    alone = rule.model_copy(update={"looks": (walk.look,), "parts": (rule.parts[index],)})
    assert graded_walk(alone, true_base, true_head).step is LookResult.REGRESSED


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(st.booleans(), min_size=15, max_size=15),
    st.lists(st.booleans(), min_size=15, max_size=15),
)
def test_on_passes_the_rule_is_the_design_that_states_its_power(
    base: list[bool], head: list[bool]
) -> None:
    rule = graded_rule(ONE, 0.03 / 5)
    design = on_passes(rule)
    walk = graded_walk(rule, list(map(float, base)), list(map(float, head)))
    taken = LookResult.GO_ON
    for index, look in enumerate(design.looks):
        passes = sum(base[: look.base]), sum(head[: look.head])
        taken = step(design, index, *passes)
        if taken is not LookResult.GO_ON:
            break
    assert (walk.step, walk.look) == (taken, look)


@pytest.mark.parametrize(
    ("base", "head", "status"),
    [
        ([0.9] * 15, [0.2] * 15, RegressionStatus.REGRESSED),
        ([0.9, 0.8, 0.9], [0.9, 0.8, 0.9], RegressionStatus.UNCHANGED),
        ([0.5] * 3, [0.9] * 3, RegressionStatus.IMPROVED),
        ([0.90, 0.91, 0.92], [0.86, 0.87, 0.88], RegressionStatus.UNCHANGED),
        ([0.9, 0.8, 0.9], [0.8, 0.8, 0.7], RegressionStatus.NOT_CONFIRMED),
        ([0.9] * 3, [0.8] * 3, RegressionStatus.SUSPECT),
    ],
)
def test_status(base: list[float], head: list[float], status: RegressionStatus) -> None:
    schedule = (Look(base=len(base), head=len(head)),)
    rule = graded_rule(schedule, 0.03)
    walk = graded_walk(rule, base, head)
    assert graded_status(rule, walk, base, head) is status


def test_a_walk_that_has_not_ended_has_no_status() -> None:
    rule = graded_rule(ONE, 0.03)
    with pytest.raises(ValueError, match="still wants"):
        graded_status(rule, graded_walk(rule, [], []), [], [])


def test_units_that_are_each_a_little_worse_are_worse_together() -> None:
    random = Random(5)
    schedule = broad_looks(3)
    units: list[tuple[list[float], list[float]]] = []
    for _ in range(20):
        base = [random.gauss(0.8, 0.05) for _ in range(6)]
        units.append((base, [random.gauss(0.74, 0.05) for _ in range(6)]))
    said = graded_broad_step(schedule, 0, units, 0.02)
    assert said.step is LookResult.REGRESSED
    assert said.base - said.head == pytest.approx(0.06, abs=0.02)
    assert graded_broad_step(schedule, 0, [], 0.02).step is LookResult.STOP
    same = [(base, base) for base, _ in units]
    assert graded_broad_step(schedule, 0, same, 0.02).step is LookResult.STOP


def bernoulli(rate: float) -> Draw:
    return lambda random: float(random.random() < rate)


def noisy(mean: float, spread: float) -> Draw:
    return lambda random: round(min(1.0, max(0.0, random.gauss(mean, spread))) * LEVELS) / LEVELS


@pytest.mark.parametrize(
    "draw", [bernoulli(0.9), noisy(0.8, 0.1), noisy(0.85, 0.02)], ids=["passes", "noisy", "calm"]
)
def test_an_unchanged_agent_blocks_in_five_per_cent_of_runs_at_most(draw: Draw) -> None:
    random = Random(8)
    runs = [simulate_scores(random, [(draw, draw)] * 10, RunSettings()) for _ in range(150)]
    assert sum(run.blocked for run in runs) / 150 <= 0.05 + 3 * (0.05 * 0.95 / 150) ** 0.5


def test_a_break_is_found_and_one_of_its_size_in_passes_too() -> None:
    random = Random(9)
    kept = [(noisy(0.9, 0.05),) * 2] * 9
    for broken in ((noisy(0.9, 0.05), noisy(0.6, 0.05)), (bernoulli(0.95), bernoulli(0.1))):
        runs = [simulate_scores(random, [broken, *kept], RunSettings()) for _ in range(60)]
        assert sum(0 in run.regressed for run in runs) / 60 >= 0.65
