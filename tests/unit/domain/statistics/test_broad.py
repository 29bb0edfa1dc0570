"""Broad slippage: its looks, its two chances, its floor, and the confirmation by fresh trials."""

from __future__ import annotations

import pytest

from gateval.domain.statistics.broad import (
    Broad,
    broad_step,
    confirmed,
    first,
)
from gateval.domain.statistics.design import LookResult, broad_looks
from gateval.domain.statistics.walk import PassCount

THREE = broad_looks(3)
ALL, TWO, ONE, NONE = (PassCount(passes=passes, trials=3) for passes in (3, 2, 1, 0))


@pytest.mark.parametrize(
    ("reps", "stored", "expected"),
    [
        (1, 0, "1,1 6,6"),
        (2, 0, "2,2 6,6"),
        (3, 0, "3,3 6,6"),
        (3, 10, "10,3 10,6"),
        (1, 3, "3,1 6,6"),
        (5, 0, "5,5 10,10"),
        (7, 0, "7,7 14,14"),
        (8, 0, "8,8"),
        (15, 0, "15,15"),
    ],
)
def test_the_looks_at_an_eval(reps: int, stored: int, expected: str) -> None:
    shown = " ".join(f"{look.base},{look.head}" for look in broad_looks(reps, stored))
    assert shown == expected


@pytest.mark.parametrize(
    ("worse", "look", "share", "step"),
    [
        (0, 0, 0.02, LookResult.STOP),
        (3, 0, 0.02, LookResult.STOP),
        (4, 0, 0.02, LookResult.GO_ON),
        (6, 0, 0.02, LookResult.GO_ON),
        (7, 0, 0.02, LookResult.REGRESSED),
        (7, 0, 0.002, LookResult.GO_ON),
        (6, 1, 0.02, LookResult.STOP),
        (7, 1, 0.02, LookResult.REGRESSED),
        (20, 0, 0.02, LookResult.REGRESSED),
    ],
)
def test_what_follows_when_fixtures_lose_one_trial_each(
    worse: int, look: int, share: float, step: LookResult
) -> None:
    """(1/2) ** worse is the p-value: each failed trial may have fallen on either side."""
    strata = [(ALL, TWO)] * worse + [(ALL, ALL)] * (20 - worse)
    found = broad_step(THREE, look, strata, share)
    assert found.step is step
    assert found.p_value == pytest.approx(0.5**worse, abs=1e-8)


def test_no_second_look_is_bought_where_a_fixture_has_regressed() -> None:
    strata = [(ALL, TWO)] * 5 + [(ALL, ALL)] * 15
    assert broad_step(THREE, 0, strata, 0.02).step is LookResult.GO_ON
    assert broad_step(THREE, 0, strata, 0.02, found=True).step is LookResult.STOP
    clear = [(ALL, TWO)] * 20
    assert broad_step(THREE, 0, clear, 0.02, found=True).step is LookResult.REGRESSED


def test_a_small_drop_in_a_very_large_eval_is_no_alarm() -> None:
    small = [(ALL, TWO)] * 100 + [(ALL, ALL)] * 900
    found = broad_step(THREE, 0, small, 0.02)
    assert found.p_value < 1e-8
    assert found.step is LookResult.STOP
    assert broad_step(THREE, 0, small[:600], 0.02).step is LookResult.REGRESSED


def test_fixtures_without_trials_on_a_side_take_no_part() -> None:
    nothing = PassCount(passes=0, trials=0)
    found = broad_step(THREE, 0, [(ALL, ONE), (nothing, NONE), (ALL, nothing)], 0.02)
    assert (found.base, found.head) == pytest.approx((1.0, 1 / 3))
    empty = broad_step(THREE, 0, [(nothing, nothing)], 0.02)
    assert empty == Broad(step=LookResult.STOP, p_value=1.0, base=0.0, head=0.0)


def test_only_the_first_trials_take_part_and_lost_ones_are_left_out() -> None:
    base, head = [True, None, True, True, True], [False, True, True, False, False]
    assert first(THREE[0], base, head) == (
        PassCount(passes=2, trials=2),
        PassCount(passes=2, trials=3),
    )


def test_fresh_base_trials_that_are_as_bad_do_not_bear_an_alarm_out() -> None:
    fresh_good, fresh_bad = PassCount(passes=5, trials=5), PassCount(passes=3, trials=5)
    assert confirmed([(fresh_good, TWO)] * 20)
    assert not confirmed([(fresh_bad, TWO)] * 20)
