"""Trials through the rule: which come next, where it ends, and what a lost trial does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateval.domain.statistics.design import LookResult, design, looks
from gateval.domain.statistics.walk import Outcomes, PassCount, walk

RULE = design(looks(1), 0.03 / 20)
THREE = design(looks(3), 0.03 / 20)


def outcomes(text: str) -> list[bool | None]:
    return [{"+": True, "-": False, "?": None}[letter] for letter in text]


@pytest.mark.parametrize(
    ("base", "head", "taken", "look"),
    [
        ("", "", LookResult.GO_ON, 1),
        ("+", "", LookResult.GO_ON, 1),
        ("+", "+", LookResult.STOP, 1),
        ("-", "-", LookResult.STOP, 1),
        ("-", "+", LookResult.STOP, 1),
        ("+", "-", LookResult.GO_ON, 3),
        ("+++", "--", LookResult.GO_ON, 3),
        ("+++", "-++", LookResult.STOP, 3),
        ("+++", "---", LookResult.GO_ON, 6),
        ("++++++", "------", LookResult.REGRESSED, 6),
        ("++++++", "--+---", LookResult.GO_ON, 10),
        ("+" * 10, "--+-------", LookResult.REGRESSED, 10),
        ("+" * 10, "--+---+++-", LookResult.GO_ON, 15),
        ("+" * 15, "--+---+++-+++++", LookResult.STOP, 15),
        ("+++++++++", "+--------", LookResult.STOP, 1),
    ],
)
def test_where_trials_lead(base: str, head: str, taken: LookResult, look: int) -> None:
    ended = walk(RULE, outcomes(base), outcomes(head))
    assert (ended.step, ended.look.head) == (taken, look)
    assert ended.ended is (taken is not LookResult.GO_ON)


def test_only_the_trials_up_to_the_end_are_counted() -> None:
    ended = walk(RULE, outcomes("+++++"), outcomes("-++--"))
    assert (ended.base, ended.head) == (
        PassCount(passes=3, trials=3),
        PassCount(passes=2, trials=3),
    )


@pytest.mark.parametrize(
    ("base", "head", "taken"),
    [
        ("+++", "--?", LookResult.GO_ON),
        ("++?", "---", LookResult.GO_ON),
        ("++?", "--?", LookResult.STOP),
        ("+" * 8, "-----?", LookResult.GO_ON),
        ("+" * 7 + "?", "------", LookResult.REGRESSED),
        ("+" * 6 + "??", "-----?", LookResult.GO_ON),
    ],
)
def test_a_lost_trial_counts_for_head_and_against_base(
    base: str, head: str, taken: LookResult
) -> None:
    ended = walk(THREE, outcomes(base), outcomes(head))
    assert ended.step is taken


def test_what_is_shown_leaves_the_lost_trials_out() -> None:
    ended = walk(THREE, outcomes("++?"), outcomes("-+-"))
    assert (ended.base, ended.head) == (
        PassCount(passes=2, trials=2),
        PassCount(passes=1, trials=3),
    )


sides = st.lists(st.sampled_from([True, True, False]), min_size=18, max_size=18)


@given(base=sides, head=sides, lost=st.data())
def test_whatever_gets_lost_can_only_take_a_regression_away(
    base: list[bool], head: list[bool], lost: st.DataObject
) -> None:
    def without(trials: list[bool]) -> Outcomes:
        gone = lost.draw(st.sets(st.integers(0, 17)))
        return [None if index in gone else trial for index, trial in enumerate(trials)]

    if walk(THREE, without(base), without(head)).step is LookResult.REGRESSED:
        assert walk(THREE, base, head).step is LookResult.REGRESSED


@given(base=sides, head=sides, better=st.integers(0, 17))
def test_one_more_pass_of_head_never_makes_it_regress(
    base: list[bool], head: list[bool], better: int
) -> None:
    lifted = [*head[:better], True, *head[better + 1 :]]
    if walk(THREE, base, lifted).step is LookResult.REGRESSED:
        assert walk(THREE, base, head).step is LookResult.REGRESSED


@given(base=sides, head=sides, order=st.permutations(range(3)))
def test_the_order_within_a_look_changes_nothing(
    base: list[bool], head: list[bool], order: list[int]
) -> None:
    def shuffled(trials: list[bool]) -> list[bool]:
        return [trials[index] for index in order] + trials[3:]

    assert walk(THREE, shuffled(base), shuffled(head)) == walk(THREE, base, head)
