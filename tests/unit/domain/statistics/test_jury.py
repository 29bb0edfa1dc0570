"""Statistics of several raters: against two packages, in simulation, and where they are not."""

from __future__ import annotations

import json
import random
from itertools import product
from math import comb, sqrt
from pathlib import Path

import pytest

from gateval.domain.statistics.jury import (
    clopper_pearson,
    error_correlation,
    interval,
    krippendorff,
    mcnemar,
    nominal,
)

RECORDED = Path(__file__).parents[3] / "data/jury"


def test_alpha_is_what_krippendorff_says_of_300_random_tables() -> None:
    rows = json.loads((RECORDED / "krippendorff.json").read_text())["rows"]
    assert len(rows) == 300
    for row in rows:
        assert krippendorff(row["units"], nominal) == pytest.approx(row["nominal"], abs=1e-9)
        assert krippendorff(row["units"], interval) == pytest.approx(row["interval"], abs=1e-9)


def test_limits_and_p_values_are_what_statsmodels_says_of_300_random_tables() -> None:
    rows = json.loads((RECORDED / "statsmodels.json").read_text())["rows"]
    assert len(rows) == 300
    for count, total, low, high, one, other, p in rows:
        assert clopper_pearson(count, total) == pytest.approx((low, high), abs=1e-9)
        assert mcnemar(one, other) == pytest.approx(p, abs=1e-9)


@pytest.mark.parametrize(
    "units", [[], [[0.5]], [[1, None], [None, 0]], [[0.5, 0.5], [0.5, 0.5]], [[1, None], [1, 1]]]
)
def test_alpha_is_none_where_nothing_can_be_compared(units: list[list[float | None]]) -> None:
    assert krippendorff(units) is None


@pytest.mark.parametrize("total", [20, 50, 200])
def test_the_limits_of_a_rate_hold_whatever_it_is(total: int) -> None:
    """Counted exactly: the chance of a count whose limits hold the true rate."""
    limits = [clopper_pearson(count, total) for count in range(total + 1)]
    for rate in [number / 50 for number in range(51)]:
        covered = sum(
            comb(total, count) * rate**count * (1 - rate) ** (total - count)
            for count, (low, high) in enumerate(limits)
            if low <= rate <= high
        )
        assert covered >= 0.95 - 1e-9, (total, rate)


def table(draw: random.Random, kind: float) -> list[tuple[tuple[bool, ...], float]]:
    """A joint table of the errors of three: each by itself (0), all alike (1), or in between."""
    own, shared = [draw.uniform(0.05, 0.4) for _ in range(3)], draw.uniform(0.05, 0.4)
    rows = []
    for errors in product((False, True), repeat=3):
        apart = 1.0
        for error, rate in zip(errors, own, strict=True):
            apart *= rate if error else 1 - rate
        alike = (shared if errors[0] else 1 - shared) if len({*errors}) == 1 else 0.0
        rows.append((errors, (1 - kind) * apart + kind * alike))
    return rows


def exact_phi(rows: list[tuple[tuple[bool, ...], float]]) -> float:
    found = []
    for one, other in ((0, 1), (0, 2), (1, 2)):
        a, b = (sum(p for errors, p in rows if errors[index]) for index in (one, other))
        both = sum(p for errors, p in rows if errors[one] and errors[other])
        found.append((both - a * b) / sqrt(a * (1 - a) * b * (1 - b)))
    return sum(found) / 3


@pytest.mark.parametrize("kind", [0.0, 0.5, 1.0])
def test_jurors_who_err_alike_are_worth_one(kind: float) -> None:
    draw = random.Random(f"{kind}")
    for _ in range(4):
        rows = table(draw, kind)
        seen = draw.choices([errors for errors, _ in rows], [p for _, p in rows], k=20_000)
        found = error_correlation(seen)
        assert found is not None
        assert found.mean == pytest.approx(exact_phi(rows), abs=0.03)
        assert found.worth == pytest.approx(3 / (1 + 2 * max(0.0, exact_phi(rows))), abs=0.15)
    if found and kind == 1.0:
        assert (found.mean, found.worth) == pytest.approx((1.0, 1.0))


def test_who_never_errs_tells_nothing_of_errors_together() -> None:
    assert error_correlation([(False, True), (False, False)]) is None
    assert error_correlation([]) is None
