"""A judge that falls is caught soon, one that does not is believed, whatever luck calibrated it."""

from __future__ import annotations

from random import Random

import pytest

from gateval.domain.statistics.watching import (
    WATCHED,
    Consistency,
    sums_of,
    too_many,
    wrong_chances,
)
from tests.unit.domain.statistics.test_preference import table

CANARIES = 10
RETESTS = 50


def test_the_chance_of_wrong_canaries_is_scipys() -> None:
    rows = table("predicted.csv")
    assert len(rows) == 300
    for right, asked, canaries, wrong, expected in rows:
        found = wrong_chances(Consistency(int(right), int(asked)), int(canaries))
        assert sum(found[int(wrong) :]) == pytest.approx(expected, abs=1e-9)


def life(draw: Random, consistency: float, runs: int, then: float, judges: int = 1) -> tuple[int, int]:  # fmt: skip
    """One agreement: the run in which its judge is disbelieved (0: none), and the runs; from then
    on for three runs more the judge has another consistency.
    """
    right = sum(draw.random() < consistency for _ in range(RETESTS))
    known = Consistency(right, RETESTS)
    most, sums, total = too_many(known, CANARIES, judges), sums_of(known, CANARIES, judges), 0.0
    for run in range(1, runs + 4):
        now = consistency if run <= runs else then
        wrong = sum(draw.random() >= now for _ in range(CANARIES))
        total = sums.after(total, wrong)
        if wrong >= most or total >= sums.limit:
            return run, run
    return 0, runs + 3


@pytest.mark.parametrize("consistency", [0.9, 0.95, 0.98, 0.995, 1.0])
@pytest.mark.parametrize("runs", [3, 30])
def test_a_judge_that_stays_as_it_was_is_disbelieved_in_one_run_of_a_hundred_at_most(
    consistency: float, runs: int
) -> None:
    draw = Random(17)
    lives = [life(draw, consistency, runs - 3, consistency) for _ in range(3_000 // runs * 3)]
    assert sum(run > 0 for run, _ in lives) / sum(runs for _, runs in lives) <= WATCHED


def test_one_that_falls_from_98_to_70_is_caught_within_three_runs() -> None:
    draw, caught, lives = Random(32), 0, 0
    while lives < 2_000:
        before = draw.randrange(6)
        run, _ = life(draw, 0.98, before, 0.70)
        if run == 0 or run > before:
            caught, lives = caught + (run > before), lives + 1
    assert caught / lives >= 0.9


@pytest.mark.parametrize("right", [40, 46, 49, 50])
def test_a_run_that_looks_twice_disbelieves_the_same_judge_no_more_often(right: int) -> None:
    """Exact: of those whom the first look believes, the second has what it left of a half."""
    known = Consistency(right, RETESTS)
    first, second = too_many(known, CANARIES), too_many(known, 2 * CANARIES, looked=[CANARIES])
    ten = wrong_chances(known, CANARIES)
    believed = wrong_chances(known, CANARIES, CANARIES, ten[:first])
    assert sum(ten[first:]) + sum(believed[second:]) <= WATCHED / 2
    assert sum(wrong_chances(known, 2 * CANARIES)) == pytest.approx(1)
    assert first < second <= 2 * first, "it sees a judge that is wrong as often in both"


def test_several_judges_share_it_and_fewer_labels_promise_less() -> None:
    known = Consistency(50, 50)
    assert too_many(known, CANARIES, 3) >= too_many(known, CANARIES)
    assert sums_of(known, CANARIES, 3).limit >= sums_of(known, CANARIES).limit
    assert too_many(Consistency(10, 10), CANARIES) > too_many(known, CANARIES)
    assert too_many(Consistency(0, 10), CANARIES) == CANARIES + 1, "nothing is too many"
    assert sums_of(known, CANARIES).after(0.0, 0) == 0.0
