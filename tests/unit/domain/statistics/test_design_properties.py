"""What must hold for every design: the bound, monotone regions, and agreement with brute force."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import comb

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateval.domain.statistics.design import (
    Design,
    Look,
    LookResult,
    design,
    fisher,
    improvement,
    looks,
)
from gateval.domain.statistics.walk import expected, power, smallest_drop, walk
from tests.helpers.false_alarms import false_alarm
from tests.helpers.tiers import examples, some_always

RATES = [rate / 200 for rate in range(201)]
SCHEDULES = st.builds(looks, st.integers(1, 20), st.sampled_from([0, 0, 1, 3, 10, 20]))
DESIGNS = st.builds(
    design, SCHEDULES, st.floats(1e-7, 0.03), st.sampled_from([0.25, 0.25, 0.5, 0.1])
)
SMALL = (Look(base=1, head=1), Look(base=3, head=2), Look(base=4, head=5))


@given(rule=DESIGNS)
@example(rule=design(looks(4, 20), 1e-7, 0.1))
@settings(max_examples=examples(60), deadline=None)
def test_the_chance_of_a_false_alarm_is_at_most_the_share(rule: Design) -> None:
    assert false_alarm(rule) <= rule.share
    assert max(power(rule, rate, rate) for rate in RATES) <= rule.share
    assert power(rule, 0.6, 0.8) <= power(rule, 0.6, 0.6) <= power(rule, 0.6, 0.4)


@given(rule=DESIGNS)
@settings(max_examples=examples(60), deadline=None)
def test_regions_are_monotone(rule: Design) -> None:
    """More passes of base, or fewer of head, never lead away from regressed or from going on."""
    for limits in (rule.regressed, rule.going_on):
        assert all(list(look) == sorted(look) for look in limits)
    for regressed, going_on in zip(rule.regressed[:-1], rule.going_on[:-1], strict=True):
        assert all(one <= other for one, other in zip(regressed, going_on, strict=True))


@pytest.mark.parametrize("fixtures", some_always([1, 2, 3, 5, 20, 40, 200, 10_000], 2))
@pytest.mark.parametrize("reps", [1, 2, 3, 6, 15])
def test_a_larger_cut_would_break_the_promise(reps: int, fixtures: int) -> None:
    schedule, share = looks(reps), 0.03 / fixtures
    rule = design(schedule, share)
    assert rule.cut <= 0.05
    for factor in (1.1, 1.5, 2, 3):
        looser = design(schedule, share * factor)
        assert looser.cut == rule.cut or (looser.cut > rule.cut and false_alarm(looser) > share)


@pytest.mark.parametrize("share", [0.001, 0.03, 0.2, 0.6])
@pytest.mark.parametrize("base_rate", [0.3, 0.8])
def test_power_and_cost_agree_with_all_sequences_of_a_tiny_design(
    share: float, base_rate: float
) -> None:
    rule, head_rate = design(SMALL, share), 0.45
    regressed, trials = 0.0, 0.0
    for base in product([False, True], repeat=4):
        for head in product([False, True], repeat=5):
            chance = chance_of(base, base_rate) * chance_of(head, head_rate)
            ended = walk(rule, base, head)
            regressed += chance * (ended.step is LookResult.REGRESSED)
            trials += chance * ended.look.trials
    assert power(rule, base_rate, head_rate) == pytest.approx(regressed)
    assert expected(rule, base_rate, head_rate).trials == pytest.approx(trials)


@given(
    base=st.integers(0, 9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    head=st.integers(0, 9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
)
def test_the_p_value_is_the_share_of_all_arrangements(
    base: tuple[int, int], head: tuple[int, int]
) -> None:
    passes = base[0] + head[0]
    arrangements = [
        comb(head[1], x) * comb(base[1], passes - x) for x in range(min(passes, head[1]) + 1)
    ]
    assert fisher(*base, *head) == sum(arrangements[: head[0] + 1]) / sum(arrangements)
    assert improvement(*base, *head) == fisher(*head, *base)


@pytest.mark.parametrize("counts", [(-1, 3, 0, 3), (4, 3, 0, 3), (0, 3, 4, 3), (0, 3, -1, 3)])
def test_impossible_counts_are_refused(counts: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="no counts"):
        fisher(*counts)


def test_the_smallest_drop_is_where_the_power_is_reached() -> None:
    rule = design(looks(3, 10), 0.03 / 40)
    for base_rate in (0.95, 0.8):
        drop = smallest_drop(rule, base_rate)
        assert drop is not None
        assert power(rule, base_rate, base_rate - drop) >= 0.8
        assert power(rule, base_rate, base_rate - drop + 0.001) < 0.8
    assert smallest_drop(rule, 0.5) is None


def chance_of(outcomes: Sequence[bool], rate: float) -> float:
    chance = 1.0
    for outcome in outcomes:
        chance *= rate if outcome else 1 - rate
    return chance
