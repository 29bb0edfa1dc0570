"""What tests of several units with scores find, counted and simulated with the very rules."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from gateval.domain.statistics.broad import Broad
from gateval.domain.statistics.design import (
    BROAD,
    FIXTURES,
    Look,
    LookResult,
    broad_looks,
    fixture_share,
    joint_shares,
    looks,
)
from gateval.domain.statistics.graded import (
    LEAST_GRADED_DROP,
    Axis,
    axis_looks,
    axis_step,
    graded_broad_step,
    graded_rule,
    graded_walk,
)
from gateval.domain.statistics.power import PairedRule, paired_power, smallest_fall
from tests.helpers.tiers import examples

AXIS_SHARE = joint_shares(BROAD, 0, 3).axis
Units = list[tuple[list[float], list[float]]]
Step = Callable[[int, Units], Broad]


def axis(units: int, repetitions: int) -> tuple[tuple[Look, ...], PairedRule, Step]:
    asked = Axis(axis_looks(repetitions, units), AXIS_SHARE)
    parts = tuple(asked.part(at, units) for at in range(len(asked.looks)))
    pairs = tuple(look.head * units for look in asked.looks)
    rule = PairedRule(pairs, parts, asked.least_drop, early=True)
    return tuple(asked.looks), rule, lambda at, drawn: axis_step(asked, at, drawn)


def whole(units: int, repetitions: int) -> tuple[tuple[Look, ...], PairedRule, Step]:
    asked = broad_looks(repetitions)
    pairs = tuple(look.head * units for look in asked)
    rule = PairedRule(pairs, tuple(BROAD / len(asked) for _ in asked), LEAST_GRADED_DROP)
    return asked, rule, lambda at, drawn: graded_broad_step(asked, at, drawn, BROAD)


def simulated(
    asked: tuple[Look, ...], step: Step, units: int, rates: tuple[float, float], runs: int
) -> float:
    random, found = Random(units), 0
    for _ in range(runs):
        drawn: Units = [([], []) for _ in range(units)]
        taken = LookResult.STOP
        for at, look in enumerate(asked):
            for base, head in drawn:
                base += [float(random.random() < rates[0]) for _ in range(look.base - len(base))]
                head += [float(random.random() < rates[1]) for _ in range(look.head - len(head))]
            taken = step(at, drawn).step
            if taken is not LookResult.GO_ON:
                break
        found += taken is LookResult.REGRESSED
    return found / runs


@pytest.mark.parametrize("made", [axis, whole])
@pytest.mark.parametrize(
    ("units", "repetitions"), [(1, 1), (3, 1), (5, 1), (5, 3), (10, 1), (16, 1), (20, 1), (20, 3)]
)
def test_the_drop_that_a_plan_names_is_found_as_often_as_it_says(
    made: Callable[[int, int], tuple[tuple[Look, ...], PairedRule, Step]],
    units: int,
    repetitions: int,
) -> None:
    asked, rule, step = made(units, repetitions)
    drop = smallest_fall(rule, 0.95)
    rates = (0.95, 0.95 - (drop if drop is not None else 0.95))
    counted = paired_power(rule, *rates)
    assert counted >= 0.8 if drop is not None else counted < 0.8
    runs = examples(1_000)
    off = abs(simulated(asked, step, units, rates, runs) - counted)
    assert off < 0.06 + 4 * (0.16 / runs) ** 0.5, (drop, counted)


def test_an_unchanged_agent_is_found_worse_no_more_often_than_the_share() -> None:
    for rate in (0.5, 0.8, 0.95):
        assert paired_power(axis(5, 1)[1], rate, rate) <= AXIS_SHARE
        assert paired_power(whole(20, 1)[1], rate, rate) <= BROAD


def test_a_larger_fall_is_never_found_less_often() -> None:
    rule = whole(10, 1)[1]
    powers = [paired_power(rule, 0.95, rate / 20) for rate in range(20)]
    assert powers == sorted(powers, reverse=True)


def test_what_blocks_is_observed_to_have_fallen_by_five_points() -> None:
    """A true fall of three points, in all of 20 fixtures, is often observed as five in one."""
    random, units = Random(5), 20
    rule = graded_rule(looks(1), fixture_share(FIXTURES, units))
    blocked, runs = 0, examples(200)
    for _ in range(runs):
        falls = []
        for _ in range(units):
            base, head = ([random.gauss(mean, 0.05) for _ in range(15)] for mean in (0.8, 0.77))
            taken = graded_walk(rule, base, head)
            if taken.step is LookResult.REGRESSED:
                falls.append(taken.base.mean - taken.head.mean)
        assert all(fall >= LEAST_GRADED_DROP - 1e-9 for fall in falls)
        blocked += bool(falls)
    assert 0.25 < blocked / runs < 0.7
