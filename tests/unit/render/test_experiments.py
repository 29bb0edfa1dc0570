"""Sets of experiments as people see them, whatever scorers are called."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from gateval.domain.history.trend import Point, scorer_series
from gateval.domain.results.averages import ScorerAverage
from gateval.domain.text import Screen
from gateval.render.comment_parts import scorer
from gateval.render.history import render_scorers_plot, render_trend
from gateval.render.report.scores import ScorerLine, difference, mark, percent

HOSTILE = "</text><script>alert(1)</script>| @everyone\n::error::x\x1b[31m"


def average(name: str, mean: float | None, rows: int = 4, measured: int = 4) -> ScorerAverage:
    return ScorerAverage(scorer=name, mean=mean, rows=rows, measured=measured)


def point(number: int, *averages: ScorerAverage) -> Point:
    return Point(
        at=f"2026-11-20T00:{number:02}:00Z", revision=f"{number:040x}", run=str(number),
        event="push", score=0.5, low=0.2, high=0.8, verdict="pass", passing=1, total=1,
        averages=averages,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("delta", "circle", "shown"),
    [
        (0.154, "🟢", "+0.15"),
        (-0.08, "🔴", "-0.08"),
        (0.0, "⚪", "0.00"),
        (1e-12, "⚪", "0.00"),
        (0.0004, "🟢", "+0.0004"),
        (-1.0, "🔴", "-1.00"),
    ],
)
def test_a_difference_has_a_colour_and_is_never_shown_as_none(
    delta: float, circle: str, shown: str
) -> None:
    assert (mark(delta), difference(delta)) == (circle, shown)


def test_an_unknown_average_is_a_dash_and_has_no_difference() -> None:
    line = ScorerLine(average("tone", None, measured=0), None)
    assert str(line) == "→ tone: – (⚪), measured in 0 of 4 rows"
    assert percent(2 / 3) == "66.67%"


def test_a_scorer_may_be_called_anything() -> None:
    shown = scorer(ScorerLine(average(HOSTILE, 0.5), 0.25, "unchanged"))
    assert shown.count("\n") == 0
    assert "<script>" not in shown
    assert shown.replace("\\|", "").count("|") == 6
    drawn = render_scorers_plot(HOSTILE, [point(1, average(HOSTILE, 0.5))])
    assert not [*ET.fromstring(drawn).iter("script")]  # noqa: S314 - what we drew ourselves
    assert "<script>" not in drawn
    table = render_trend("lab", [point(1, average(HOSTILE, 0.5))], Screen(200))
    assert "\x1b" not in table
    assert "\n::error" not in table


def test_scorers_that_come_and_go_leave_gaps() -> None:
    points = [
        point(1, average("a", 0.5), average("old", 1)),
        point(2, average("a", None, measured=0)),
        point(3, average("a", 0.75), average("new", 0.25)),
    ]
    assert {one.scorer: (one.means, one.last, one.delta) for one in scorer_series(points)} == {
        "a": ((0.5, None, 0.75), 0.75, None),
        "new": ((None, None, 0.25), 0.25, None),
        "old": ((1, None, None), 1, None),
    }
    drawn = ET.fromstring(render_scorers_plot("lab", points))  # noqa: S314 - ours
    lines = drawn.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 4  # what is not one after the other is not joined
    table = render_trend("lab", points, Screen(120))
    assert "a       ▅ ▇       75.00%  ⚪" in table
