"""The benchmark of the statistics runs, its plot is drawn, and the peer's rule is the peer's rule."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from benchmarks.statistics import signaltest
from benchmarks.statistics.lines import Line, table
from benchmarks.statistics.plot import Curve, svg
from benchmarks.statistics.scenarios import MIXED, Change, Pool, measure
from gateval.domain.statistics.power import Rates

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.statistics", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )


def test_it_prints_every_figure_beside_its_bar() -> None:
    done = run("--runs", "2")
    assert done.returncode in {0, 1}, done.stderr
    assert (done.returncode == 1) is ("MISSED" in done.stdout)
    assert "1 broken, from 0.9: found" in done.stdout
    assert "≥ 86.00 %" in done.stdout


def test_the_plot_is_drawn_the_same_each_time(tmp_path: Path) -> None:
    plots = [tmp_path / name for name in ("one.svg", "two.svg")]
    for plot in plots:
        assert run("--runs", "3", "--plot", str(plot)).returncode == 0
    assert plots[0].read_bytes() == plots[1].read_bytes()


def test_the_documented_plot_has_the_exact_curves_of_this_code(tmp_path: Path) -> None:
    run("--runs", "1", "--plot", str(tmp_path / "plot.svg"))
    drawn, documented = (
        re.findall(r'<polyline points="([^"]+)"', path.read_text("utf-8"))
        for path in (tmp_path / "plot.svg", ROOT / "docs/explanation/statistics.svg")
    )
    assert len(drawn) == 3
    assert drawn == documented, "draw it again: docs/explanation/statistics.md says how"


def test_a_curve_without_an_exact_line_has_dots_only() -> None:
    drawn = svg([Curve("dots", "#000", [], [(0.5, 1.0)])])
    assert drawn.count("<circle") == 2
    assert "<polyline" not in drawn


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [(10, 10, 1.0), (10, 4, 0.0108), (10, 5, 0.0325), (0, 10, 1.08e-5)],
)
def test_the_peers_p_value_is_fishers_two_sided_one(base: int, head: int, expected: float) -> None:
    assert signaltest.two_sided(base, head) == pytest.approx(expected, rel=0.01)


def test_the_peer_finds_what_fell_and_not_what_rose() -> None:
    rates = Rates(base=(1.0, 0.0, 1.0), head=(0.0, 1.0, 1.0))
    found = signaltest.once(Random(1), rates, 1)
    assert (found.blocked, found.found, found.head_trials) == (True, True, 30)
    risen = signaltest.once(Random(1), Rates(base=(0.0,), head=(1.0,)), 0)
    assert not risen.blocked


def test_the_peer_has_the_power_that_others_simulated() -> None:
    measured = measure(signaltest.once, Pool(20, (0.8,)), Change(1), 1000)
    assert measured.blocked == pytest.approx(0.41, abs=0.06)


def test_a_pool_is_drawn_anew_and_a_change_hits_the_first() -> None:
    rates = Change(2, was=0.9, slip=0.15).rates(Pool(5, MIXED), Random(1))
    assert rates.base[:2] == (0.9, 0.9)
    assert rates.head[:2] == (0.1, 0.1)
    assert [round(base - head, 6) for base, head in zip(rates.base, rates.head, strict=True)][
        2:
    ] == [0.15] * 3


@pytest.mark.parametrize(
    ("value", "bar", "least", "verdict"),
    [
        (0.9, 0.8, True, "OK"),
        (0.7, 0.8, True, "MISSED"),
        (0.7, 0.8, False, "OK"),
        (0.9, 0.8, False, "MISSED"),
    ],
)
def test_a_line_says_whether_it_keeps_its_bar(
    value: float, bar: float, *, least: bool, verdict: str
) -> None:
    line = Line("setting", "figure", value, bar=bar, least=least)
    assert table([line]).endswith(verdict)
    assert line.figure().over is line.missed is (verdict == "MISSED")
