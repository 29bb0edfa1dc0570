"""The words for a fixture at the end, the intervals beside them, and the shares."""

from __future__ import annotations

import pytest

from gateval.domain.statistics.design import design, fixture_share, looks, split
from gateval.domain.statistics.walk import (
    RegressionStatus,
    deterministic,
    status,
    walk,
    wilson_rate,
)

RULE = design(looks(1), 0.03 / 20)
THREE = design(looks(3), 0.03 / 20)
STORED = design(looks(3, 10), 0.03 / 40)


def outcomes(passes: int, trials: int) -> list[bool]:
    return [True] * passes + [False] * (trials - passes)


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        ("+", "+", RegressionStatus.UNCHANGED),
        ("-", "+", RegressionStatus.UNCHANGED),
        ("+++", "-++", RegressionStatus.UNCHANGED),
        ("++++++", "------", RegressionStatus.REGRESSED),
        ("+" * 15, "--+---+++-+++++", RegressionStatus.SUSPECT),
        ("+" * 11 + "--++", "--+---+++-+++++", RegressionStatus.NOT_CONFIRMED),
        ("+" * 13 + "--", "--+--++++++++++", RegressionStatus.UNCHANGED),
    ],
)
def test_the_status_with_one_repetition(base: str, head: str, expected: RegressionStatus) -> None:
    ended = walk(RULE, [letter == "+" for letter in base], [letter == "+" for letter in head])
    assert status(RULE, ended) is expected


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [(0, 3, RegressionStatus.IMPROVED), (0, 2, RegressionStatus.UNCHANGED)],
)
def test_a_rise_is_an_improvement_when_it_is_clear(
    base: int, head: int, expected: RegressionStatus
) -> None:
    assert status(THREE, walk(THREE, outcomes(base, 3), outcomes(head, 3))) is expected


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        (10, 3, RegressionStatus.UNCHANGED),
        (7, 2, RegressionStatus.UNCHANGED),
        (6, 2, RegressionStatus.UNRELIABLE_BASELINE),
        (0, 0, RegressionStatus.UNRELIABLE_BASELINE),
    ],
)
def test_a_baseline_of_ten_that_seldom_passes_is_unreliable(
    base: int, head: int, expected: RegressionStatus
) -> None:
    assert status(STORED, walk(STORED, outcomes(base, 10), outcomes(head, 3))) is expected


def test_a_baseline_without_a_drop_that_could_be_seen_is_unreliable() -> None:
    blind = design(looks(3, 10), 1e-12)
    ended = walk(blind, outcomes(10, 10), outcomes(3, 3))
    assert status(blind, ended) is RegressionStatus.UNRELIABLE_BASELINE


def test_an_unreliable_baseline_never_hides_a_regression() -> None:
    base = [*outcomes(7, 10), *outcomes(3, 5), *outcomes(3, 5)]
    ended = walk(STORED, base, outcomes(0, 10))
    assert ended.base.rate < 0.7
    assert status(STORED, ended) is RegressionStatus.REGRESSED


def test_a_fixture_that_wants_trials_has_no_status() -> None:
    with pytest.raises(ValueError, match="no status yet"):
        status(RULE, walk(RULE, [True], [False]))


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        (True, True, RegressionStatus.UNCHANGED),
        (False, False, RegressionStatus.UNCHANGED),
        (True, False, RegressionStatus.REGRESSED),
        (False, True, RegressionStatus.IMPROVED),
    ],
)
def test_one_flip_decides_a_deterministic_fixture(
    *, base: bool, head: bool, expected: RegressionStatus
) -> None:
    assert deterministic(base_passed=base, head_passed=head) is expected


@pytest.mark.parametrize(
    ("passes", "trials", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_limits_of_a_rate_are_those_of_newcombe_1998(
    passes: int, trials: int, low: float, high: float
) -> None:
    assert wilson_rate(passes / trials, trials) == pytest.approx((low, high), abs=6e-5)


def test_shares_follow_the_weights_and_sum_to_the_budget() -> None:
    assert split(0.03, {"a": 1, "b": 1, "c": 1}) == pytest.approx(dict.fromkeys("abc", 0.01))
    assert split(0.03, {"a": 2, "b": 1}) == pytest.approx({"a": 0.02, "b": 0.01})
    assert split(0.03, {}) == {}
    assert fixture_share(0.03, 20) == 0.0015


@pytest.mark.parametrize("weight", [0, -1, float("inf"), float("nan")])
def test_a_weight_must_be_above_zero(weight: float) -> None:
    with pytest.raises(ValueError, match="finite number above 0"):
        split(0.03, {"a": 1, "b": weight})


def test_a_share_needs_a_fixture() -> None:
    with pytest.raises(ValueError, match="there is none"):
        fixture_share(0.03, 0)
