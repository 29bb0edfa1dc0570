"""An Eval's score over its runs, as SVG and as a line of characters for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from gateval.domain.history.runs.trend import Point
from gateval.safe.sanitize import plain_line

_LEFT, _TOP, _WIDTH, _HEIGHT = 56, 44, 640, 260
_BLOCKS = "▁▂▃▄▅▆▇█"


def render_plot(name: str, points: Sequence[Point]) -> str:
    """Return an SVG document: scores with their limits, the threshold, regressions in red."""
    places = [(_x(index, len(points)), one) for index, one in enumerate(points)]
    line = " ".join(f"{x:.1f},{_y(one.score):.1f}" for x, one in places)
    box = f"0 0 {_LEFT + _WIDTH + 48} {_TOP + _HEIGHT + 56}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" font-family="sans-serif">',
        '<rect width="100%" height="100%" fill="white"/>',
        _text(_LEFT, 24, f"Score of {name}", size=15),
        *_grid(points),
        f'<polyline points="{line}" fill="none" stroke="#2166ac" stroke-width="1.5"/>',
        *(_mark(x, one) for x, one in places),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def sparkline(points: Sequence[Point]) -> str:
    """Return a character for each run, from ▁ (0) to █ (1); `!` where it regressed."""
    return "".join(
        "!" if one.regressed else _BLOCKS[min(len(_BLOCKS) - 1, int(one.score * len(_BLOCKS)))]
        for one in points
    )


def _grid(points: Sequence[Point]) -> Iterator[str]:
    for tenth in range(0, 11, 2):
        y = _y(tenth / 10)
        yield f'<path d="M{_LEFT} {y:.1f}h{_WIDTH}" stroke="#dddddd"/>'
        yield _text(_LEFT - 8, y + 4, f"{tenth / 10:.1f}", anchor="end")
    threshold = points[-1].threshold if points else None
    if threshold is not None:
        dashed = 'stroke="#555555" stroke-dasharray="5 4"'
        yield f'<path d="M{_LEFT} {_y(threshold):.1f}h{_WIDTH}" {dashed}/>'
    for index in sorted({0, len(points) // 2, len(points) - 1}) if points else ():
        x = _x(index, len(points))
        yield _text(x, _TOP + _HEIGHT + 22, points[index].at[:10], anchor="middle")
        yield _text(x, _TOP + _HEIGHT + 40, points[index].revision[:7], anchor="middle")


def _mark(x: float, point: Point) -> str:
    color = "#b2182b" if point.regressed else "#2166ac"
    low, high = _y(point.low), _y(point.high)
    names = ", ".join(point.regressed)
    told = f"{point.at} {point.revision[:7]}: {point.score:.2f}"
    title = f"{told}, regressed: {names}" if names else told
    return (
        f'<g><title>{_safe(title)}</title><path d="M{x:.1f} {high:.1f}V{low:.1f}" '
        f'stroke="{color}" stroke-opacity="0.35" stroke-width="3"/>'
        f'<circle cx="{x:.1f}" cy="{_y(point.score):.1f}" r="3.5" fill="{color}"/></g>'
    )


def _x(index: int, many: int) -> float:
    return _LEFT + (_WIDTH * index / (many - 1) if many > 1 else _WIDTH / 2)


def _y(score: float) -> float:
    return _TOP + _HEIGHT * (1 - score)


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 13) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
    return f"<text {place}>{_safe(text)}</text>"


def _safe(text: str) -> str:
    return escape(plain_line(text, 300), {'"': "&quot;"})
