"""Plots as SVG and as lines of characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from gateval.domain.history.compared import Table
from gateval.domain.history.trend import Point
from gateval.domain.manifests.evaluation import SCORE_FROM
from gateval.domain.results.judge_choice import ComparisonReport, choice_figures
from gateval.domain.results.self_check import CalibrationReport, SelfCheck
from gateval.domain.text import show_score
from gateval.safe.sanitize import plain_line


def svg(width: float, height: float, parts: Iterable[str]) -> str:
    """Return an SVG document of this size with `parts` on a white ground."""
    box = f"0 0 {width:.0f} {height:.0f}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" font-family="sans-serif">',
        '<rect width="100%" height="100%" fill="white"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def text(x: float, y: float, said: str, *, anchor: str = "start", size: int = 13) -> str:
    """Return a text at this place."""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
    return f"<text {place}>{safe(said)}</text>"


def safe(said: str) -> str:
    """Return a text as it may stand in SVG."""
    return escape(plain_line(said, 300), {'"': "&quot;"})


_LEFT, _TOP, _WIDTH, _ROW = 20, 60, 560, 46
_NAME = 160
"""Characters above a judge's line."""


def render_calibration_plot(found: CalibrationReport) -> str:
    """Return an SVG document. Names in it are people's, and escaped."""
    said = "dashed: the least that is asked; green: calibrated; the line is the 95 % interval"
    rows = [
        _KappaRow(
            f"{one.calibration}: {one.model} ({one.phase}, {one.scored} scored)",
            (one.low, one.kappa, one.high),
            one.least,
            good=one.phase == "Calibrated",
        )
        for one in found.judges
    ]
    return _kappa_plot("Agreement of judges with people: Cohen's kappa and 95 %", said, rows)


def render_choice_plot(found: ComparisonReport) -> str:
    """Return an SVG document: from the bound of each judge to its upper limit, the cheapest first.
    Names in it are people's, and escaped.
    """
    said = "dashed: the least that is asked; the line begins at the bound; green: it holds"
    rows = [
        _KappaRow(
            f"{choice.calibration}: {one.name} ({', '.join(choice_figures(one))})",
            (one.bound, one.judged.kappa, one.judged.high),
            choice.least,
            good=one.holds,
        )
        for choice in found.choices
        for one in choice.judges
    ]
    return _kappa_plot("Judges on the same labels, the cheapest first", said, rows)


class _KappaRow(NamedTuple):
    """A judge, its kappa between limits, None for unknown, and the least that is asked."""

    said: str
    limits: tuple[float | None, float | None, float | None]
    least: float
    good: bool


def _kappa_plot(title: str, said: str, rows: Sequence[_KappaRow]) -> str:
    height = _TOP + _ROW * len(rows) + 40
    parts = [text(_LEFT, 26, title, size=15), *_scale(height, said)]
    for number, row in enumerate(rows):
        parts += _judge(row, _TOP + _ROW * number)
    return svg(_LEFT + _WIDTH + 20, height, parts)


def _scale(height: int, said: str) -> Iterator[str]:
    yield text(_LEFT, 44, said, size=11)
    for step in range(-4, 5):
        x = _x(step / 4)
        yield f'<path d="M{x:.1f} {_TOP - 14}V{height - 34}" stroke="#dddddd"/>'
        yield text(x, height - 14, f"{step / 4:g}", anchor="middle")


def _judge(one: _KappaRow, top: float) -> Iterator[str]:
    y = top + 26
    colour = "#1b7837" if one.good else "#b2182b"
    low, kappa, high = one.limits
    yield text(_LEFT, top + 8, plain_line(one.said, _NAME))
    if low is not None and high is not None and kappa is not None:
        line = f"M{_x(low):.1f} {y}H{_x(high):.1f}"
        yield f'<path d="{line}" stroke="{colour}" stroke-width="3"/>'
        yield f'<circle cx="{_x(kappa):.1f}" cy="{y}" r="5" fill="{colour}"/>'
    yield f'<path d="M{_x(one.least):.1f} {y - 8}v16" stroke="black" stroke-dasharray="3 2"/>'


def _x(value: float) -> float:
    return _LEFT + _WIDTH * (value + 1) / 2


_POWER_LEFT, _POWER_TOP, _POWER_WIDTH, _HEIGHT = 56, 44, 480, 260


def render_power_plot(found: SelfCheck) -> str:
    """Return an SVG document. Nothing in it was written by anybody else."""
    points = [_place(one.drop, one.chance) for one in found.power]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts = [
        text(_POWER_LEFT, 24, "A fixture gets worse: how often is it found?", size=15),
        *_grid(),
        f'<polyline points="{line}" fill="none" stroke="#1b7837" stroke-width="2"/>',
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="#1b7837"/>' for x, y in points),
    ]
    return svg(_POWER_LEFT + _POWER_WIDTH + 24, _POWER_TOP + _HEIGHT + 56, parts)


def _grid() -> Iterator[str]:
    for percent in range(0, 101, 20):
        _, y = _place(0, percent / 100)
        yield f'<path d="M{_POWER_LEFT} {y:.1f}h{_POWER_WIDTH}" stroke="#dddddd"/>'
        yield text(_POWER_LEFT - 8, y + 4, f"{percent} %", anchor="end")
    for points in range(0, 101, 20):
        x, y = _place(points / 100, 0)
        yield text(x, y + 20, str(points), anchor="middle")
    yield text(
        _POWER_LEFT + _POWER_WIDTH / 2,
        _POWER_TOP + _HEIGHT + 42,
        "drop of its pass rate in points",
        anchor="middle",
    )


def _place(drop: float, chance: float) -> tuple[float, float]:
    return _POWER_LEFT + _POWER_WIDTH * drop, _POWER_TOP + _HEIGHT * (1 - chance)


LEFT, TOP, WIDTH, HEIGHT = 56, 44, 640, 260
"""Where the grid begins and how large it is, in pixels."""

BOTTOM = TOP + HEIGHT + 56
"""Where the frame ends, with the dates below the grid."""

_BLOCKS = "▁▂▃▄▅▆▇█"


def render_plot(name: str, points: Sequence[Point]) -> str:
    """Return an SVG document: scores with their limits, the threshold, regressions in red."""
    places = [(x_of(index, len(points)), one) for index, one in enumerate(points)]
    joined = [
        f'<polyline points="{line}" fill="none" stroke="#2166ac" stroke-width="1.5"/>'
        for line in lines_of([one.score for one in points])
    ]
    marks = [_mark(x, one) for x, one in places]
    parts = [*joined, *marks, *_legend_of_marks()]
    return plot_of_runs(f"Score of {name}", points, parts, height=BOTTOM + 28)


def _legend_of_marks() -> Iterator[str]:
    """Yield what the marks of scores mean, below the dates."""
    y, left = BOTTOM + 16, LEFT
    for color, said, wide in (
        ("#2166ac", "score and 95 % interval", 190),
        ("#b2182b", "something regressed", 160),
        ("", "? not measured", 0),
    ):
        if color:
            stroke = f'stroke="{color}" stroke-opacity="0.35" stroke-width="3"'
            yield f'<path d="M{left} {y - 12}v14" {stroke}/>'
            yield f'<circle cx="{left}" cy="{y - 5}" r="3.5" fill="{color}"/>'
        yield text(left + (10 if color else 0), y, said)
        left += wide


def lines_of(scores: Sequence[float | None]) -> Iterator[str]:
    """Yield the points of each line: runs one after the other with a score; a gap where none is."""
    places: list[str] = []
    for at, score in enumerate((*scores, None)):
        if score is not None:
            places.append(f"{x_of(at, len(scores)):.1f},{y_of(score):.1f}")
        elif places:
            yield " ".join(places)
            places = []


SPARKS = (
    f"Scores from {_BLOCKS[0]} (0) to {_BLOCKS[-1]} (1), the newest last; ! something regressed, "
    "? not measured."
)
"""What the characters of `sparkline` mean."""


def sparkline(points: Sequence[Point]) -> str:
    """Return a character for each run, from ▁ (0) to █ (1); `!` where it regressed, `?` where
    nothing was measured.
    """
    return "".join("!" if one.regressed else block(one.score) for one in points)


def _mark(x: float, point: Point) -> str:
    color = "#b2182b" if point.regressed else "#2166ac"
    names = ", ".join(point.regressed)
    told = f"{point.at} {point.revision[:7]}: {show_score(point.whole_score)}"
    title = f"{told}, regressed: {names}" if names else told
    if point.score is None or point.low is None or point.high is None:
        place = text(x, TOP + HEIGHT - 4, "?", anchor="middle")
        return f"<g><title>{safe(title)}</title>{place}</g>"
    low, high = y_of(point.low), y_of(point.high)
    return (
        f'<g><title>{safe(title)}</title><path d="M{x:.1f} {high:.1f}V{low:.1f}" '
        f'stroke="{color}" stroke-opacity="0.35" stroke-width="3"/>'
        f'<circle cx="{x:.1f}" cy="{y_of(point.score):.1f}" r="3.5" fill="{color}"/></g>'
    )


def block(score: float | None) -> str:
    """Return the character of a score, from ▁ (0) to █ (1); `?` where there is none."""
    if score is None:
        return "?"
    return _BLOCKS[min(len(_BLOCKS) - 1, int(score * len(_BLOCKS)))]


def plot_of_runs(
    title: str, points: Sequence[Point], parts: Iterable[str], *, height: float = BOTTOM
) -> str:
    """Return an SVG document with a title, the grid of these runs, and `parts` on it."""
    return svg(
        LEFT + WIDTH + 48, height, [text(LEFT, 24, title, size=15), *_scores_grid(points), *parts]
    )


def _scores_grid(points: Sequence[Point]) -> Iterator[str]:
    threshold = points[-1].threshold if points else None
    yield from score_grid(WIDTH, threshold, f"threshold {threshold:.2f}" if threshold else "")
    yield text(LEFT, 38, "below: day and revision of the run", size=10)
    for index in sorted({0, len(points) // 2, len(points) - 1}) if points else ():
        x = x_of(index, len(points))
        yield text(x, TOP + HEIGHT + 22, points[index].at[:10], anchor="middle")
        yield text(x, TOP + HEIGHT + 40, points[index].revision[:7], anchor="middle")


_HIGH = 0.95
"""Above it, what stands over the line of a threshold would stand in the words over the grid."""


def score_grid(width: float, threshold: float | None, called: str) -> Iterator[str]:
    """Yield the lines of scores from 0 to 1, and a dashed one for a threshold, with its name."""
    for tenth in range(0, 11, 2):
        y = y_of(tenth / 10)
        yield f'<path d="M{LEFT} {y:.1f}h{width}" stroke="#dddddd"/>'
        yield text(LEFT - 8, y + 4, f"{tenth / 10:.1f}", anchor="end")
    if threshold:
        dashed = 'stroke="#555555" stroke-dasharray="5 4"'
        yield f'<path d="M{LEFT} {y_of(threshold):.1f}h{width}" {dashed}/>'
        down = 14 if threshold > _HIGH else -4
        yield text(LEFT + 4, y_of(threshold) + down, called, size=11)


def x_of(index: int, many: int) -> float:
    """Return where the run of this index, of so many, stands from the left."""
    return LEFT + (WIDTH * index / (many - 1) if many > 1 else WIDTH / 2)


def y_of(score: float) -> float:
    """Return where a score in [0, 1] stands from the top."""
    return TOP + HEIGHT * (1 - score)


_COLORS = ("#2166ac", "#b2182b", "#1b7837", "#762a83", "#bf812d", "#35978f", "#636363", "#c51b7d")
_BAR, _GAP = 26, 28


def render_bars(table: Table) -> str:
    """Return an SVG document; the dashed line is where `pass` begins."""
    group = _BAR * len(table.rows) + _GAP
    width = max(240, group * len(table.benchmarks))
    height = TOP + HEIGHT + 80 + 20 * len(table.rows)
    parts = [
        text(LEFT, 24, "Scores of benchmarks", size=15),
        text(LEFT, 38, _days(table), size=10),
        *score_grid(width, SCORE_FROM, f"pass from {SCORE_FROM:g}"),
        *_bars(table, group),
        *_legend(table),
    ]
    return svg(LEFT + width + 24, height, parts)


def _days(table: Table) -> str:
    days = [one.record.at[:10] for row in table.rows for one in row.cells if one]
    return f"runs of {min(days)} to {max(days)}" if days else "no runs"


def _bars(table: Table, group: int) -> Iterator[str]:
    for number, name in enumerate(table.benchmarks):
        left = LEFT + _GAP / 2 + number * group
        for at, row in enumerate(table.rows):
            cell = row.cells[number]
            if cell is not None and cell.run.low is not None and cell.run.high is not None:
                x, top, end = left + at * _BAR, y_of(cell.run.low), y_of(cell.run.high)
                title, color = f"{row.name}, {name}: {cell.shown}", _COLORS[at % len(_COLORS)]
                yield (
                    f'<g><title>{safe(title)}</title><rect x="{x + 2:.1f}" y="{top:.1f}" '
                    f'width="{_BAR - 4}" height="{TOP + HEIGHT - top:.1f}" fill="{color}"/>'
                    f'<path d="M{x + _BAR / 2:.1f} {end:.1f}V{top:.1f}" stroke="{color}" '
                    f'stroke-opacity="0.4" stroke-width="4"/></g>'
                )
        middle = left + _BAR * len(table.rows) / 2
        yield text(middle, TOP + HEIGHT + 22, name, anchor="middle")


def _legend(table: Table) -> Iterator[str]:
    for at, row in enumerate(table.rows):
        y = TOP + HEIGHT + 50 + 20 * at
        color = _COLORS[at % len(_COLORS)]
        yield f'<rect x="{LEFT}" y="{y - 10}" width="12" height="12" fill="{color}"/>'
        yield text(LEFT + 20, y, row.name)
    y = TOP + HEIGHT + 50 + 20 * len(table.rows)
    yield text(LEFT, y, "pale: what was not measured may add", size=11)
