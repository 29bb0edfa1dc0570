"""An Eval's score over its runs, as SVG and as a line of characters for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.history.runs.trend import Point
from gateval.render.history.frame import safe, svg, x_of, y_of

_BLOCKS = "▁▂▃▄▅▆▇█"


def render_plot(name: str, points: Sequence[Point]) -> str:
    """Return an SVG document: scores with their limits, the threshold, regressions in red."""
    places = [(x_of(index, len(points)), one) for index, one in enumerate(points)]
    line = " ".join(f"{x:.1f},{y_of(one.score):.1f}" for x, one in places)
    joined = f'<polyline points="{line}" fill="none" stroke="#2166ac" stroke-width="1.5"/>'
    marks = [_mark(x, one) for x, one in places]
    return svg(f"Score of {name}", points, [joined, *marks])


def sparkline(points: Sequence[Point]) -> str:
    """Return a character for each run, from ▁ (0) to █ (1); `!` where it regressed."""
    return "".join(
        "!" if one.regressed else _BLOCKS[min(len(_BLOCKS) - 1, int(one.score * len(_BLOCKS)))]
        for one in points
    )


def _mark(x: float, point: Point) -> str:
    color = "#b2182b" if point.regressed else "#2166ac"
    low, high = y_of(point.low), y_of(point.high)
    names = ", ".join(point.regressed)
    told = f"{point.at} {point.revision[:7]}: {point.score:.2f}"
    title = f"{told}, regressed: {names}" if names else told
    return (
        f'<g><title>{safe(title)}</title><path d="M{x:.1f} {high:.1f}V{low:.1f}" '
        f'stroke="{color}" stroke-opacity="0.35" stroke-width="3"/>'
        f'<circle cx="{x:.1f}" cy="{y_of(point.score):.1f}" r="3.5" fill="{color}"/></g>'
    )
