"""Cohen's kappa: its value, where it is not defined, and the interval around it."""

from __future__ import annotations

import math
import random
from itertools import product
from pathlib import Path

import pytest

from benchmarks.kappa import LEAST, MOST, SETTINGS, Setting, coverage, intervals, simulated
from gateval.domain.statistics.walk import (
    STANDARD_ERRORS,
    Confusion,
    agreement,
    kappa,
    kappa_interval,
)

RECORDED = Path(__file__).parents[3] / "data/kappa"


def recorded(package: str) -> list[tuple[Confusion, list[float]]]:
    """Random tables, and what the package said of each once (`tools/kappa_tables.py`)."""
    text = (RECORDED / f"{package}.csv").read_text()
    rows = [line.split(",") for line in text.splitlines() if line[0] != "#"]
    assert len(rows) == 1_000
    return [(Confusion(*map(int, row[:4])), [*map(float, row[4:])]) for row in rows]


def test_it_is_what_scikit_learn_says_of_1_000_random_tables() -> None:
    for table, (said,) in recorded("scikit-learn"):
        assert kappa(table) == pytest.approx(said, abs=1e-9)


def test_its_limits_are_what_statsmodels_says_of_1_000_random_tables() -> None:
    """As many of its standard errors around its kappa, of the same observations."""
    for table, (middle, error) in recorded("statsmodels"):
        low, high = middle - STANDARD_ERRORS * error, middle + STANDARD_ERRORS * error
        wanted = max(-1, min(kappa(table), low)), min(1, max(kappa(table), high))
        assert kappa_interval(table) == pytest.approx(wanted, abs=1e-9)


def test_it_is_what_another_formula_says_of_1_000_random_tables() -> None:
    """2 (ad - bc) / (r1 c2 + r2 c1), of a table of two by two."""
    draw = random.Random(1)
    for _ in range(1_000):
        a, b, c, d = (draw.randrange(1, 60) for _ in range(4))
        margins = (a + b) * (b + d) + (c + d) * (a + c)
        assert kappa(Confusion(a, b, c, d)) == pytest.approx(
            2 * (a * d - b * c) / margins, abs=1e-9
        )


@pytest.mark.parametrize(
    ("table", "value"),
    [
        (Confusion(20, 5, 10, 15), 0.4),  # the textbook's
        (Confusion(10, 0, 0, 10), 1.0),
        (Confusion(0, 10, 10, 0), -1.0),
        (Confusion(5, 5, 5, 5), 0.0),
        (Confusion(), 0.0),
        (Confusion(1, 0, 0, 0), 0.0),
        (Confusion(20, 0, 0, 0), 0.0),
        (Confusion(0, 0, 0, 20), 0.0),
        (Confusion(12, 0, 8, 0), 0.0),
        (Confusion(0, 1, 0, 0), 0.0),
    ],
)
def test_values(table: Confusion, value: float) -> None:
    assert kappa(table) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("tenths", [4, 5, 6, 7, 8])
def test_a_judge_at_the_very_limit_reaches_it(tenths: int) -> None:
    """Whole numbers against floats: `kappa < 0.6` of a kappa of 3/5 would turn a judge down."""
    ten, at_limit = 10, 0
    for total in range(10, 41, 5):
        for a, b, c in product(range(total + 1), range(total + 1), range(total + 1)):
            d = total - a - b - c
            margins = (a + b) * (b + d) + (c + d) * (a + c)
            if d >= 0 and margins and 2 * (a * d - b * c) * ten == margins * tenths:
                assert kappa(Confusion(a, b, c, d)) >= tenths / ten
                at_limit += 1
    assert at_limit


def test_every_small_table_has_a_value_and_limits_around_it() -> None:
    cells = range(5)
    for table in (
        Confusion(a, b, c, d) for a in cells for b in cells for c in cells for d in cells
    ):
        low, high = kappa_interval(table)
        assert -1 <= low <= kappa(table) <= high <= 1
        assert math.isfinite(agreement(table))


def test_one_label_shows_nothing() -> None:
    low, high = kappa_interval(Confusion(true_pass=1))
    assert low < -0.6
    assert high > 0.9


def test_the_interval_of_20_labels_covers_94_to_98_percent_everywhere() -> None:
    known = intervals(20)
    found = [coverage(20, setting, known) for setting in SETTINGS]
    assert min(found) >= LEAST
    assert max(found) <= MOST


@pytest.mark.exhaustive
@pytest.mark.parametrize("labels", [50, 200])
def test_the_interval_of_more_labels_covers_94_to_98_percent(labels: int) -> None:
    known = intervals(labels) if labels == 50 else {}
    for setting in SETTINGS[::6]:
        found = coverage(50, setting, known) if known else simulated(labels, setting)
        assert LEAST <= found <= MOST, setting


def test_what_is_simulated_agrees_with_what_is_counted() -> None:
    setting = Setting(0.4, 0.9, 0.8)
    assert simulated(20, setting) == pytest.approx(coverage(20, setting, intervals(20)), abs=0.02)
