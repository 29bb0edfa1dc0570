"""The exact figures of the reference, to the digits it shows, and tables a person can check."""

from __future__ import annotations

import pytest

from gateval.domain.statistics.design import Design, LookResult, design, looks, step
from gateval.domain.statistics.walk import expected, power

ENTRY, ENTRY_STORED = looks(1), looks(1, 10)
THREE, THREE_STORED = looks(3), looks(3, 10)


@pytest.mark.parametrize(
    ("schedule", "fixtures", "escalation", "cut", "unchanged", "hard", "halved", "trials"),
    [
        (ENTRY, 20, 0.25, ".00389", ".0000 .0065", ".879 .827 .758 .604", ".212", "2.27"),
        (ENTRY, 20, 0.5, ".00316", ".0000 .0085", ".891 .852 .796 .654", ".260", "3.10"),
        (ENTRY, 40, 0.25, ".00141", ".0000 .0037", ".878 .826 .755 .583", ".154", "2.27"),
        (THREE, 20, 0.25, ".00262", ".0000 .0082", ".965 .931 .879 .739", ".273", "6.14"),
        (THREE, 40, 0.5, ".00127", ".0000 .0072", ".998 .989 .965 .849", ".314", "8.73"),
        (ENTRY_STORED, 20, 0.25, ".00220", ".0016 .0251", ".899 .895 .887 .834", ".330", "11.49"),
        (THREE_STORED, 20, 0.25, ".00218", ".0006 .0251", ".996 .985 .962 .869", ".507", "13.98"),
        (THREE_STORED, 40, 0.5, ".00097", ".0001 .0148", ".999 .996 .984 .912", ".446", "15.89"),
    ],
)
def test_the_exact_figures(
    schedule: tuple,  # type: ignore[type-arg]
    fixtures: int,
    escalation: float,
    cut: str,
    unchanged: str,
    hard: str,
    halved: str,
    trials: str,
) -> None:
    rule = design(schedule, 0.03 / fixtures, escalation)
    assert shown(5, rule.cut) == cut
    alarms = [1 - (1 - power(rule, rate, rate)) ** fixtures for rate in (0.95, 0.8)]
    assert shown(4, *alarms) == unchanged
    assert shown(3, *(power(rule, rate, 0.1) for rate in (0.99, 0.95, 0.9, 0.8))) == hard
    assert shown(3, power(rule, 0.95, 0.5)) == halved
    assert f"{expected(rule, 0.95, 0.95).trials:.2f}" == trials


@pytest.mark.parametrize(
    ("base", "head", "reached"),
    [
        ("10 9 8 7 6 5", "2 1 1 0 0 0", LookResult.GO_ON),
        ("10 9 8 7 6 5 4 0", "3 2 2 1 1 1 0 0", LookResult.STOP),
    ],
)
def test_three_trials_against_ten_stored_ones_never_regress(
    base: str, head: str, reached: LookResult
) -> None:
    rule = design(THREE_STORED, 0.03 / 40)
    for base_passes, head_passes in zip(numbers(base), numbers(head), strict=True):
        assert step(rule, 0, base_passes, head_passes) is reached


@pytest.mark.parametrize(
    ("look", "base", "head"),
    [
        (1, "15 14 13", "1 0 0"),
        (2, "20 19 18 17 16 15 14 13", "4 3 2 2 1 0 0 0"),
        (3, "25 24 23 22 21 20 19 18 17 16 15 14 13 12", "8 7 6 5 4 3 3 2 2 1 1 0 0 0"),
    ],
)
def test_the_published_table_regresses_here_too(look: int, base: str, head: str) -> None:
    """The reference's cut leaves the stops out and is smaller: what it blocks, this one does."""
    rule = design(THREE_STORED, 0.03 / 40)
    for base_passes, most in zip(numbers(base), numbers(head), strict=True):
        assert step(rule, look, base_passes, most) is LookResult.REGRESSED
        assert most <= rule.regressed[look][base_passes] <= most + 1


def test_the_last_look_never_goes_on() -> None:
    assert all(most == -1 for most in rule_of_one().going_on[-1])


def test_at_the_entry_look_only_a_worse_head_goes_on() -> None:
    assert rule_of_one().going_on[0] == (-1, 0)
    assert rule_of_one().regressed[0] == (-1, -1)


def test_a_share_too_small_for_any_result_never_regresses() -> None:
    rule = design(looks(1), 1e-12)
    assert rule.cut == 0
    assert all(most == -1 for look in rule.regressed for most in look)


@pytest.mark.parametrize("share", [0.0, -0.1, 1.0])
def test_a_share_must_be_a_part_of_the_whole(share: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        design(looks(1), share)


def rule_of_one() -> Design:
    return design(looks(1), 0.03 / 20)


def shown(digits: int, *values: float) -> str:
    return " ".join(f"{value:.{digits}f}".removeprefix("0") for value in values)


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split()]
