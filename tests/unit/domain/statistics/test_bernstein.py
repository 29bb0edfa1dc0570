"""The largest value of a polynomial is bounded, not sampled; and no small drop is a regression."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateval.domain.statistics.design import coefficients, design, looks, never_above
from tests.helpers.false_alarms import largest


def test_a_count_of_sequences_becomes_a_polynomial_of_any_higher_degree() -> None:
    for degree in (2, 3, 17):
        half = coefficients({(2, 1): 2}, degree)
        assert largest(half) == pytest.approx(0.5, abs=2e-9)
        assert never_above(half, 0.5000001)
        assert not never_above(half, 0.4999999)


def test_a_narrow_peak_between_the_points_of_a_grid_is_seen() -> None:
    """q^60 (1 - q)^60 is largest at one half, and next to nothing a little beside it."""
    peak = coefficients({(120, 60): 1}, 120)
    top = 0.5**120
    assert largest([value / top for value in peak]) == pytest.approx(1.0, abs=1e-6)
    assert not never_above(peak, top * 0.999999)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_the_bound_is_an_upper_one_and_near(values: list[float]) -> None:
    def at(q: float) -> float:
        piece = values
        while len(piece) > 1:
            piece = [(1 - q) * one + q * two for one, two in pairwise(piece)]
        return piece[0]

    seen = max(at(step / 500) for step in range(501))
    assert seen - 1e-9 <= largest(values) <= seen + 1e-3


def test_a_drop_under_ten_points_never_regresses_however_many_trials_there_are() -> None:
    rule = design(looks(100), 0.03)
    assert rule.regressed[0][100] <= 90
    assert all(base - most >= 10 for base, most in enumerate(rule.regressed[0]) if most >= 0)
