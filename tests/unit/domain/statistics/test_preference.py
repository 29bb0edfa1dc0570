"""The rule for preferences: exact against brute force and others' programs, never beyond its share."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path
from random import Random

import pytest

from gateval.domain.statistics.design import BROAD, PREFERENCE_PART, joint_shares
from gateval.domain.statistics.graded import flipped
from gateval.domain.statistics.preference import (
    HIGHEST_RATE,
    preference_found,
    preference_p,
    preference_power,
    preferences,
)

TABLES = Path(__file__).parents[3] / "data/watching"
SHARE = BROAD * PREFERENCE_PART


def test_the_p_value_is_the_share_of_all_ways_to_turn_fixtures_round() -> None:
    draw = Random(32)
    for _ in range(200):
        sums = [draw.randint(-3, 3) for _ in range(draw.randint(1, 9))]
        ways = [sum(s * one for s, one in zip(signs, sums, strict=True)) for signs in product((1, -1), repeat=len(sums))]  # fmt: skip
        expected = sum(way <= sum(sums) for way in ways) / len(ways)
        assert flipped(sums) == pytest.approx(expected, abs=1e-12)
        assert preference_p(sums) == flipped(sums)


def table(name: str) -> list[list[float]]:
    """The rows of a stored table (`tools/watching_tables.py`)."""
    rows = csv.reader((TABLES / name).read_text().splitlines()[1:])
    return [[float(one) for one in row] for row in rows]


def test_it_says_what_scipy_and_statsmodels_say() -> None:
    signs, flips = table("sign.csv"), table("flips.csv")
    assert (len(signs), len(flips)) == (500, 100)
    for won, lost, tied, expected in signs:
        sums = [1] * int(won) + [-1] * int(lost) + [0] * int(tied)
        assert preference_p(sums) == pytest.approx(expected, abs=1e-9)
    for expected, *written in flips:
        assert preference_p([int(one) for one in written]) == pytest.approx(expected, abs=1e-9)


def test_many_fixtures_are_turned_round_in_blocks_which_is_as_exact() -> None:
    draw = Random(1)
    found = sum(
        preference_p([draw.choice((-1, 0, 1)) for _ in range(1_700)]) <= 0.05 for _ in range(300)
    )
    assert found <= 26, "15 are expected, and more than 26 in one of 400 seeds"


@pytest.mark.parametrize("share", [SHARE, 0.0025, 0.05])
def test_equal_answers_are_called_worse_no_more_often_than_the_share(share: float) -> None:
    for fixtures in (*range(1, 60), 250, 500):
        assert preference_power(fixtures, share, 0.5) <= share
        assert preference_power(fixtures, share, 0.6) <= share, "better ones less often still"


def test_repetitions_that_are_alike_make_no_false_alarm() -> None:
    """Each fixture has an answer that is better or worse in all of its five repetitions."""
    draw, found = Random(5), 0
    for _ in range(2_000):
        fixtures = [[draw.choice((-1, 1))] * 5 for _ in range(20)]
        found += preferences(fixtures, 0.05).worse
    assert found <= 0.05 * 2_000
    pairs = [pair for fixture in fixtures for pair in fixture]
    assert preference_p(pairs) != preference_p([sum(one) for one in fixtures])


def test_nothing_blocks_above_the_highest_rate() -> None:
    few = preferences([[-1]] * 301 + [[1]] * 199, 0.01)
    assert (few.rate, few.worse) == (0.398, True)
    more = preferences([[-1]] * 297 + [[1]] * 203, 0.01)
    assert more.rate > HIGHEST_RATE
    assert more.p_value < 0.01
    assert not more.worse
    edge = preferences([[-1]] * 300 + [[1]] * 200, 0.01)
    assert (edge.rate, edge.worse) == (0.4, True)


def test_no_pair_is_no_preference() -> None:
    nothing = preferences([], 0.01)
    assert (nothing.pairs, nothing.rate, nothing.p_value, nothing.worse) == (0, 0.5, 1.0, False)
    assert not preferences([[0]] * 50, 0.01).worse


def test_the_power_is_that_of_the_rule() -> None:
    draw = Random(9)
    found = sum(
        preferences([[1 if draw.random() < 0.3 else -1] for _ in range(40)], SHARE).worse
        for _ in range(4_000)
    )
    assert found / 4_000 == pytest.approx(preference_power(40, SHARE, 0.3), abs=0.03)


@pytest.mark.parametrize("tied", [0.2, 0.5])
def test_a_win_rate_in_which_ties_are_half_a_win_is_found_as_often(tied: float) -> None:
    rate = 0.5 - (preference_found(250, SHARE) or 0)
    assert _found(250, rate - tied / 2, tied) >= 0.78, ".80 and three standard errors"
    among_others = _found(250, (1 - tied) * rate, tied)
    assert among_others <= 0.56, "the same rate among pairs that do not tie is a higher one"


def _found(fixtures: int, won: float, tied: float) -> float:
    """How often head is found worse that wins and ties each of these fixtures so likely."""
    draw, chances = Random(11), (won, tied, 1 - won - tied)
    runs = [draw.choices((1, 0, -1), chances, k=fixtures) for _ in range(1_000)]
    return sum(preferences([[one] for one in run], SHARE).worse for run in runs) / len(runs)


def test_what_a_plan_can_promise() -> None:
    """60:40 at a level of .01 is found by the p-value alone in four of five runs of 250 pairs; that
    nothing blocks above .40 makes it a half.
    """
    assert preference_power(250, 0.01, 0.4) == pytest.approx(0.527, abs=0.001)
    assert preference_found(250, 0.01) == pytest.approx(0.124, abs=0.001)
    assert preference_found(40, 0.01) == pytest.approx(0.245, abs=0.001)
    assert preference_found(7, 0.01) == pytest.approx(0.469, abs=0.001)
    assert preference_found(6, 0.01) is None, "six pairs of six have p .016"
    assert preference_found(5_000, 0.01) == pytest.approx(0.106, abs=0.001)


def test_it_has_a_named_share_of_the_five_percent() -> None:
    for families, axes in ((0, 0), (3, 0), (0, 4), (3, 4)):
        parts = joint_shares(BROAD, families, axes, preferences=True)
        spent = parts.whole + families * parts.family + axes * parts.axis + parts.preference
        assert spent == pytest.approx(BROAD)
        assert parts.preference == SHARE == 0.01
        assert joint_shares(BROAD, families, axes).preference == 0
