"""The mean ratio of pairs, and how sure it is."""

from __future__ import annotations

import random
from math import exp
from statistics import fmean

import pytest

from gateval.domain.statistics.walk import inside, paired_ratio, two_sided
from tests.helpers.tiers import examples

# NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, and R's qt
TABLE = [
    (0.95, 1, 12.7062047),
    (0.95, 2, 4.3026527),
    (0.95, 9, 2.2621572),
    (0.95, 10, 2.2281389),
    (0.95, 39, 2.0226909),
    (0.975, 9, 2.6850108),
    (0.99, 30, 2.7499957),
    (0.95, 10_000, 1.9602012),
]


@pytest.mark.parametrize(("level", "freedom", "t"), TABLE)
def test_students_t(level: float, freedom: int, t: float) -> None:
    assert two_sided(level, freedom) == pytest.approx(t, abs=1e-6)
    assert inside(t, freedom) == pytest.approx(level, abs=1e-7)


@pytest.mark.parametrize(("level", "freedom"), [(0.0, 3), (1.0, 3), (0.95, 0)])
def test_no_t_without_sense(level: float, freedom: int) -> None:
    with pytest.raises(ValueError, match="There is no t"):
        two_sided(level, freedom)


def test_the_same_ratio_everywhere_is_certain() -> None:
    found = paired_ratio([(1, 2), (10, 20), (0.01, 0.02)], 0.95)
    assert found is not None
    assert (found.mean, found.low, found.high) == pytest.approx((2, 2, 2))


def test_one_pair_has_no_interval_and_none_no_ratio() -> None:
    found = paired_ratio([(1, 3)], 0.95)
    assert found is not None
    assert found.mean == pytest.approx(3)
    assert (found.low, found.high) == (None, None)
    assert paired_ratio([], 0.95) is None


@pytest.mark.parametrize("pairs", [[(1e-300, 1e300)], [(1e-300, 1e300), (1e300, 1e-300)]])
def test_numbers_that_nobody_measures_break_nothing(pairs: list[tuple[float, float]]) -> None:
    found = paired_ratio(pairs, 0.95)
    assert found is not None
    assert found.mean <= 1e6 + 1
    assert found.high is None or found.high <= 1e6 + 1


def test_turned_round_it_is_the_inverse() -> None:
    pairs = [(1.0, 2.0), (3.0, 4.0), (9.0, 7.0)]
    there, back = paired_ratio(pairs, 0.9), paired_ratio([(b, a) for a, b in pairs], 0.9)
    assert there is not None
    assert back is not None
    assert (there.low or 0) * (back.high or 0) == pytest.approx(1)


@pytest.mark.parametrize("fixtures", [3, 10, 40])
@pytest.mark.parametrize("spread", [0.3, 0.8])
def test_coverage_and_false_alarms(fixtures: int, spread: float) -> None:
    """Costs that differ tenfold between fixtures, three noisy repetitions on each side."""
    rng, runs, true = random.Random(7), examples(1_500), 1.2
    held = above = 0
    for _ in range(runs):
        pairs = []
        for _ in range(fixtures):
            size = exp(rng.gauss(0, 1.2))
            base, head = (
                fmean(size * exp(rng.gauss(0, spread)) for _ in range(3)) for _ in range(2)
            )
            pairs.append((base, true * head))
        found = paired_ratio(pairs, 0.95)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low <= true <= found.high
        above += found.low > true
    assert 0.93 <= held / runs <= 0.97
    assert above / runs <= 0.04
