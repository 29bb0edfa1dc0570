"""Which of several judges: its bound, the labels that it wants, and what length does to it."""

from __future__ import annotations

from itertools import combinations
from math import sqrt
from statistics import NormalDist

import pytest

from benchmarks.kappa import SETTINGS, bounds, too_high
from gateval.domain.statistics.choosing import (
    JudgedAnswer,
    choice_level,
    kappa_bound,
    labels_for,
    length_leaning,
)
from gateval.domain.statistics.walk import Confusion, kappa


@pytest.mark.parametrize("judges", [1, 3, 6, 20])
def test_the_bound_is_above_the_true_kappa_as_seldom_as_it_says(judges: int) -> None:
    """Exactly, by all tables of 20 labels; `benchmarks/kappa.py` has 50, too."""
    held = bounds(20, judges)
    worst = max(too_high(20, one, held) for one in SETTINGS[:: 1 if judges == 1 else 7])
    assert worst <= 1 - choice_level(judges)


def test_more_judges_want_a_better_bound_and_none_is_above_kappa() -> None:
    table = Confusion(40, 4, 4, 40)
    found = [kappa_bound(table, choice_level(judges)) for judges in (1, 2, 5, 20)]
    assert found == sorted(found, reverse=True)
    assert found[0] < kappa(table)
    assert kappa_bound(Confusion(), 0.95) == -1


def _fleiss(p: Confusion) -> float:
    """n times the variance of kappa, written out anew from Fleiss, Cohen and Everitt (1969)."""
    cells = [[p.true_pass, p.false_pass], [p.false_fail, p.true_fail]]
    rows = [sum(row) for row in cells]
    columns = [cells[0][i] + cells[1][i] for i in range(2)]
    seen = cells[0][0] + cells[1][1]
    chance = sum(rows[i] * columns[i] for i in range(2))
    same = sum(
        cells[i][i] * ((1 - chance) - (columns[i] + rows[i]) * (1 - seen)) ** 2 for i in range(2)
    )
    other = (1 - seen) ** 2 * sum(
        cells[i][j] * (columns[i] + rows[j]) ** 2 for i in range(2) for j in range(2) if i != j
    )
    return (same + other - (seen * chance - 2 * chance + seen) ** 2) / (1 - chance) ** 4


@pytest.mark.parametrize(
    ("right", "least", "judges"), [(0.42, 0.6, 3), (0.45, 0.4, 1), (0.4, 0.5, 6)]
)
def test_labels_are_those_of_cantor(right: float, least: float, judges: int) -> None:
    wrong = 0.5 - right
    table = Confusion(100 * right, 100 * wrong, 100 * wrong, 100 * right)
    edge = (1 + least) / 4
    q1 = _fleiss(Confusion(right, wrong, wrong, right))
    q0 = _fleiss(Confusion(edge, 0.5 - edge, 0.5 - edge, edge))
    alpha, beta = NormalDist().inv_cdf(choice_level(judges)), NormalDist().inv_cdf(0.8)
    wanted = ((alpha * sqrt(q0) + beta * sqrt(q1)) / (kappa(table) - least)) ** 2
    found = labels_for(table, least, choice_level(judges))
    assert found is not None
    assert wanted <= found <= wanted + 1


def test_so_many_labels_are_enough_for_the_bound_and_no_number_helps_who_does_not_agree() -> None:
    for table in (Confusion(10, 0, 0, 10), Confusion(9, 1, 1, 9), Confusion(30, 2, 1, 7)):
        found = labels_for(table, 0.5, choice_level(4))
        assert found is not None
        grown = Confusion(*(found * cell / table.total for cell in table))
        assert kappa_bound(grown, choice_level(4)) >= 0.5
    for table in (Confusion(6, 4, 4, 6), Confusion(20, 0, 0, 0), Confusion()):
        assert labels_for(table, 0.6, 0.95) is None


def test_length_is_compared_among_answers_that_people_judged_alike() -> None:
    """Good answers are longer here, and the judge is right about all: that is no bias."""
    right = [JudgedAnswer(100 + at, judge=True, person=True) for at in range(6)]
    right += [JudgedAnswer(10 + at, judge=False, person=False) for at in range(6)]
    found = length_leaning(right)
    assert found is not None
    assert (found.more, found.p) == (0, 1)
    long = [JudgedAnswer(at, judge=at >= 6, person=at % 2 == 0) for at in range(12)]
    found = length_leaning(long)
    assert found is not None
    assert found.more == pytest.approx(1)
    assert found.p == pytest.approx(2 / 20**2)
    assert length_leaning([JudgedAnswer(5, judge=True, person=True)] * 4) is None
    assert length_leaning([]) is None


def test_its_p_value_is_the_share_of_all_ways_to_turn_verdicts_round() -> None:
    answers = [JudgedAnswer(at, judge=at in {1, 4, 5, 6, 9}, person=at < 6) for at in range(11)]
    found = length_leaning(answers)
    assert found is not None
    groups = [[one.judge for one in answers if one.person is person] for person in (True, False)]
    ways = [
        sum(groups[0][at] for at in first) + sum(groups[1][at] for at in second)
        for first in combinations(range(6), 3)
        for second in combinations(range(5), 2)
    ]
    seen = sum(one.judge for one in answers if one.length in {3, 4, 5, 9, 10})
    mean = sum(ways) / len(ways)
    odd = sum(abs(one - mean) >= abs(seen - mean) - 1e-9 for one in ways) / len(ways)
    assert found.p == pytest.approx(odd, abs=1e-12)
