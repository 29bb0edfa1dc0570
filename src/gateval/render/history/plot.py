"""Scores of runs as plots and as lines of characters, and the grid on which such plots stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gateval.domain.history.runs.trend import Point
from gateval.domain.score import score_of
from gateval.domain.text.figures import show_score
from gateval.render.svg import safe, svg, text

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
    return plot_of_runs(f"Score of {name}", points, [*joined, *marks])


def lines_of(scores: Sequence[float | None]) -> Iterator[str]:
    """Yield the points of each line: runs one after the other with a score; a gap where none is."""
    places: list[str] = []
    for at, score in enumerate((*scores, None)):
        if score is not None:
            places.append(f"{x_of(at, len(scores)):.1f},{y_of(score):.1f}")
        elif places:
            yield " ".join(places)
            places = []


def sparkline(points: Sequence[Point]) -> str:
    """Return a character for each run, from ▁ (0) to █ (1); `!` where it regressed, `?` where
    nothing was measured.
    """
    return "".join("!" if one.regressed else block(one.score) for one in points)


def _mark(x: float, point: Point) -> str:
    color = "#b2182b" if point.regressed else "#2166ac"
    names = ", ".join(point.regressed)
    told = f"{point.at} {point.revision[:7]}: {show_score(score_of(point.score, point.score))}"
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
    return svg(LEFT + WIDTH + 48, height, [text(LEFT, 24, title, size=15), *_grid(points), *parts])


def _grid(points: Sequence[Point]) -> Iterator[str]:
    yield from score_grid(WIDTH, points[-1].threshold if points else None)
    for index in sorted({0, len(points) // 2, len(points) - 1}) if points else ():
        x = x_of(index, len(points))
        yield text(x, TOP + HEIGHT + 22, points[index].at[:10], anchor="middle")
        yield text(x, TOP + HEIGHT + 40, points[index].revision[:7], anchor="middle")


def score_grid(width: float, threshold: float | None) -> Iterator[str]:
    """Yield the lines of scores from 0 to 1, and a dashed one for a threshold."""
    for tenth in range(0, 11, 2):
        y = y_of(tenth / 10)
        yield f'<path d="M{LEFT} {y:.1f}h{width}" stroke="#dddddd"/>'
        yield text(LEFT - 8, y + 4, f"{tenth / 10:.1f}", anchor="end")
    if threshold:
        dashed = 'stroke="#555555" stroke-dasharray="5 4"'
        yield f'<path d="M{LEFT} {y_of(threshold):.1f}h{width}" {dashed}/>'


def x_of(index: int, many: int) -> float:
    """Return where the run of this index, of so many, stands from the left."""
    return LEFT + (WIDTH * index / (many - 1) if many > 1 else WIDTH / 2)


def y_of(score: float) -> float:
    """Return where a score in [0, 1] stands from the top."""
    return TOP + HEIGHT * (1 - score)
