"""The exact tests of scores, against counting all ways one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateval.domain.statistics.design import fisher
from gateval.domain.statistics.graded import (
    BLOCKS,
    LEVELS,
    MOST,
    blocks,
    differences,
    permutation,
    sign_flip,
)
from tests.helpers.tiers import examples

SCORES = st.lists(st.integers(0, LEVELS).map(lambda level: level / LEVELS), min_size=1, max_size=6)
DIFFERENCES = st.lists(st.integers(-100, 100).map(lambda step: step / 100), max_size=9)


@settings(max_examples=examples(150), deadline=None)
@given(SCORES, SCORES)
def test_the_p_value_is_the_share_of_ways_to_deal_the_scores_out(
    base: list[float], head: list[float]
) -> None:
    pooled = [round(score * LEVELS) for score in base + head]
    seen = sum(round(score * LEVELS) for score in head)
    ways = [sum(taken) <= seen for taken in combinations(pooled, len(head))]
    assert permutation(base, head) == float(Fraction(sum(ways), len(ways)))


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(1, MOST), st.integers(1, MOST), st.data())
def test_on_passes_it_is_fishers_test(base: int, head: int, data: st.DataObject) -> None:
    x, y = data.draw(st.integers(0, base)), data.draw(st.integers(0, head))
    passes = [1.0] * x + [0.0] * (base - x), [1.0] * y + [0.0] * (head - y)
    assert permutation(*passes) == fisher(x, base, y, head)


@settings(max_examples=examples(100), deadline=None)
@given(SCORES, SCORES, st.data())
def test_a_better_head_or_a_worse_base_never_lowers_it(
    base: list[float], head: list[float], data: st.DataObject
) -> None:
    before = permutation(base, head)
    at = data.draw(st.integers(0, len(head) - 1))
    better = [*head[:at], data.draw(st.floats(head[at], 1)), *head[at + 1 :]]
    at = data.draw(st.integers(0, len(base) - 1))
    worse = [*base[:at], data.draw(st.floats(0, base[at])), *base[at + 1 :]]
    assert permutation(base, better) >= before
    assert permutation(worse, head) >= before


def test_the_order_and_empty_sides_do_not_matter() -> None:
    assert permutation([], [0.5]) == permutation([0.5], []) == 1.0
    assert permutation([0.9, 0.8], [0.1, 0.2]) == permutation([0.8, 0.9], [0.2, 0.1])
    assert permutation([0.9, 0.9, 0.9], [0.1, 0.1, 0.1]) == 1 / 20
    assert permutation([0.5] * 15, [0.5] * 15) == 1.0


def test_many_scores_are_taken_in_blocks_of_equal_size_on_both_sides() -> None:
    assert blocks([0.1, 0.2], MOST) == [0.1, 0.2]
    assert blocks([0.0, 1.0] * 10, 2 * MOST) == [0.5] * 10
    assert len(blocks([0.3] * 100, 100)) == 16
    assert permutation([0.9] * 1000, [0.1] * 1000) < 1e-8


@pytest.mark.parametrize(("base", "head"), [(6, 6), (8, 6), (40, 40)])
def test_its_level_holds_for_scores_of_any_kind(base: int, head: int) -> None:
    random, runs = Random(4), examples(400)
    draws = (random.random, lambda: float(random.random() < 0.9), lambda: random.betavariate(9, 1))
    for draw in draws:
        found = [
            permutation([draw() for _ in range(base)], [draw() for _ in range(head)]) <= 0.1
            for _ in range(runs)
        ]
        assert sum(found) / runs <= 0.1 + 3 * (0.1 * 0.9 / runs) ** 0.5


@settings(max_examples=examples(150), deadline=None)
@given(DIFFERENCES)
def test_the_paired_p_value_is_the_share_of_ways_to_turn_differences_round(
    found: list[float],
) -> None:
    sizes = [round(one * 100) for one in found]
    ways = [
        sum(sign * size for sign, size in zip(signs, sizes, strict=True)) <= sum(sizes)
        for signs in product((1, -1), repeat=len(sizes))
    ]
    assert sign_flip(found) == sum(ways) / len(ways)


@pytest.mark.parametrize("count", [BLOCKS, BLOCKS + 1, 1_000])
def test_so_it_is_in_blocks(count: int) -> None:
    random = Random(2)
    found = [random.gauss(0, 0.2) for _ in range(count)]
    assert sign_flip(found) == pytest.approx(1 - sign_flip([-one for one in found]), abs=1e-3)
    alarms = [sign_flip([random.gauss(0, 0.2) for _ in range(count)]) <= 0.05 for _ in range(120)]
    assert sum(alarms) / 120 <= 0.05 + 3 * (0.05 * 0.95 / 120) ** 0.5
    assert sign_flip([random.gauss(-0.1, 0.2) for _ in range(count)]) < 0.001


def test_pairs_with_a_lost_trial_have_no_say() -> None:
    assert differences([0.5, None, 0.5, 0.5], [0.25, 0.5, None]) == [-0.25]
    assert sign_flip([]) == sign_flip([0.0, 0.0]) == 1.0
