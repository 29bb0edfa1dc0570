"""The scorers of an experiment over its sets: a line of characters each, or a plot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gateval.domain.history.runs.trend import Point
from gateval.render.history.plot import BOTTOM, LEFT, block, lines_of, plot_of_runs
from gateval.render.history.sheet import Sheet
from gateval.render.report.scores.experiments import DOWN, SAME, UP, difference, mark, percent
from gateval.render.svg import text

_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's palette, which people with any colour vision can tell apart."""

_DASHES = ("", "6 3", "2 3")
_LEGEND = 20

Series = Mapping[str, Sequence[float | None]]
"""By scorer: its average in each set, the oldest first, None where it has none."""


def scorer_series(points: Sequence[Point]) -> Series:
    """Return the averages of each scorer, those of the newest set first."""
    names = dict.fromkeys(a.scorer for point in reversed(points) for a in point.averages)
    means = [{one.scorer: one.mean for one in point.averages} for point in points]
    return {name: [each.get(name) for each in means] for name in names}


def add_scorers(sheet: Sheet, points: Sequence[Point]) -> None:
    """Add a line for each scorer: its averages, the last of them, the difference to before."""
    series = scorer_series(points)
    if not series:
        return
    rows = []
    for name, means in series.items():
        delta = _delta(means)
        circle = SAME if delta is None else f"{mark(delta)}{difference(delta)}"
        style = {UP: "green", DOWN: "red"}.get(circle[:1], "")
        rows.append(((name, _line(means), percent(means[-1]), circle), style))
    sheet.table(("SCORER", "AVERAGES", "LAST", "Δ"), rows)


def _delta(means: Sequence[float | None]) -> float | None:
    """Return the difference of the last set to the one before."""
    if len(means) < 2 or means[-1] is None or means[-2] is None:
        return None
    return means[-1] - means[-2]


def _line(means: Sequence[float | None]) -> str:
    return "".join(" " if mean is None else block(mean) for mean in means)


def render_scorers_plot(name: str, points: Sequence[Point]) -> str:
    """Return an SVG document with a line for each scorer, its legend below."""
    series = scorer_series(points)
    height = BOTTOM + _LEGEND * (len(series) + 1)
    parts = [
        part
        for number, (scorer, means) in enumerate(series.items())
        for part in _drawn(number, scorer, means)
    ]
    return plot_of_runs(f"Scorers of {name}", points, parts, height=height)


def _drawn(number: int, scorer: str, means: Sequence[float | None]) -> Iterator[str]:
    color, dash = _COLORS[number % len(_COLORS)], _DASHES[number // len(_COLORS) % len(_DASHES)]
    stroke = f'fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dash}"'
    for places in lines_of(means):
        yield f'<polyline points="{places}" {stroke}/>'
        for place in places.split():
            x, _, y = place.partition(",")
            yield f'<circle cx="{x}" cy="{y}" r="3" fill="{color}"/>'
    down = BOTTOM + _LEGEND * (number + 0.5)
    yield f'<path d="M{LEFT} {down - 4:.1f}h28" {stroke}/>'
    last = next((one for one in reversed(means) if one is not None), None)
    yield text(LEFT + 36, down, f"{scorer}: {percent(last)}")
