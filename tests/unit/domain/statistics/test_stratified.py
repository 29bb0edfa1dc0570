"""The test over all fixtures: exact, never too small, and quick for very many of them."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateval.domain.statistics.broad import MARGIN, stratified
from gateval.domain.statistics.design import fisher, weights
from gateval.domain.statistics.walk import PassCount
from tests.helpers.tiers import examples

Strata = list[tuple[PassCount, PassCount]]


def drawn(random: Random, fixtures: int, trials: int, drop: float = 0.05) -> Strata:
    def count(rate: float, trials: int) -> PassCount:
        return PassCount(passes=sum(random.random() < rate for _ in range(trials)), trials=trials)

    rates = random.choices([0.95, 0.9, 0.8, 0.6], k=fixtures)
    return [
        (count(rate, random.choice([trials, 10])), count(rate - drop, random.choice([trials, 2])))
        for rate in rates
    ]


def exact(strata: Strata) -> Fraction:
    """The distribution of the total, multiplied out in integers."""
    ways, lowest = [1], 0
    for base, head in strata:
        passes = base.passes + head.passes
        more = list(weights(base.trials, head.trials, passes))
        product = [0] * (len(ways) + len(more) - 1)
        for place, count in enumerate(ways):
            for offset, times in enumerate(more):
                product[place + offset] += count * times
        ways, lowest = product, lowest + max(0, passes - base.trials)
    total = sum(head.passes for _, head in strata)
    return Fraction(sum(ways[: total - lowest + 1]), sum(ways))


@pytest.mark.parametrize("trials", [1, 3, 6])
@pytest.mark.parametrize("fixtures", [1, 2, 7, 20, 40, 120])
def test_it_is_the_exact_p_value_and_never_too_small(fixtures: int, trials: int) -> None:
    random = Random(fixtures * 100 + trials)
    for drop in (-0.1, 0.05, 0.4):
        strata = drawn(random, fixtures, trials, drop)
        found, truth = stratified(strata), exact(strata)
        assert truth <= found or found == 1.0
        assert found - truth <= 2 * MARGIN


side = st.integers(0, 8).flatmap(
    lambda trials: st.builds(PassCount, passes=st.integers(0, trials), trials=st.just(trials))
)


@given(strata=st.lists(st.tuples(side, side), max_size=6), order=st.randoms(use_true_random=False))
def test_the_order_of_fixtures_changes_nothing(strata: Strata, order: Random) -> None:
    shuffled = strata.copy()
    order.shuffle(shuffled)
    assert stratified(shuffled) == pytest.approx(stratified(strata), abs=1e-12)


@given(base=side, head=side)
def test_one_fixture_is_fishers_test(base: PassCount, head: PassCount) -> None:
    alone = fisher(base.passes, base.trials, head.passes, head.trials)
    assert stratified([(base, head)]) == pytest.approx(alone, abs=2 * MARGIN)


@given(strata=st.lists(st.tuples(side, side), min_size=1, max_size=5))
@settings(max_examples=examples(50))
def test_one_more_pass_of_head_never_looks_worse(strata: Strata) -> None:
    (base, head), *rest = strata
    if head.passes < head.trials:
        better = PassCount(passes=head.passes + 1, trials=head.trials)
        assert stratified([(base, better), *rest]) >= stratified(strata) - 1e-12


def test_a_fixture_without_trials_has_no_say() -> None:
    strata = drawn(Random(5), 20, 3)
    nothing = PassCount(passes=0, trials=0)
    some = PassCount(passes=2, trials=3)
    more = [*strata, (nothing, some), (some, nothing), (nothing, nothing)]
    assert stratified(more) == pytest.approx(stratified(strata), abs=1e-12)
    assert stratified([]) == 1.0


def test_ten_thousand_fixtures_take_no_time_and_agree_with_the_normal_curve() -> None:
    strata = drawn(Random(3), 10_000, 6, 0.004)
    started = perf_counter()
    found = stratified(strata)
    assert perf_counter() - started < 2
    assert found == pytest.approx(normal(strata), rel=0.02)
    assert 1e-6 < found < 0.5


def normal(strata: Strata) -> float:
    """The same with the normal curve and the correction for continuity."""
    from statistics import NormalDist

    mean = variance = total = 0.0
    for base, head in strata:
        trials, passes = base.trials + head.trials, base.passes + head.passes
        mean += head.trials * passes / trials
        variance += (
            head.trials * passes * base.trials * (trials - passes) / trials**2 / (trials - 1)
        )
        total += head.passes
    return NormalDist(mean, variance**0.5).cdf(total + 0.5)
