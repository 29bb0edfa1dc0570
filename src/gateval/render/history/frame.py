"""What plots of runs have in common: the frame, its grid, and where a score of a run stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from xml.sax.saxutils import escape

from gateval.domain.history.runs.trend import Point
from gateval.safe.sanitize import plain_line

LEFT, TOP, WIDTH, HEIGHT = 56, 44, 640, 260
"""Where the grid begins and how large it is, in pixels."""

BOTTOM = TOP + HEIGHT + 56
"""Where the frame ends, with the dates below the grid."""


def svg(
    title: str, points: Sequence[Point], parts: Iterable[str], *, height: float = BOTTOM
) -> str:
    """Return an SVG document with a title, the grid of these runs, and `parts` on it."""
    box = f"0 0 {LEFT + WIDTH + 48} {height:.0f}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" font-family="sans-serif">',
        '<rect width="100%" height="100%" fill="white"/>',
        text(LEFT, 24, title, size=15),
        *_grid(points),
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _grid(points: Sequence[Point]) -> Iterator[str]:
    for tenth in range(0, 11, 2):
        y = y_of(tenth / 10)
        yield f'<path d="M{LEFT} {y:.1f}h{WIDTH}" stroke="#dddddd"/>'
        yield text(LEFT - 8, y + 4, f"{tenth / 10:.1f}", anchor="end")
    threshold = points[-1].threshold if points else None
    if threshold:
        dashed = 'stroke="#555555" stroke-dasharray="5 4"'
        yield f'<path d="M{LEFT} {y_of(threshold):.1f}h{WIDTH}" {dashed}/>'
    for index in sorted({0, len(points) // 2, len(points) - 1}) if points else ():
        x = x_of(index, len(points))
        yield text(x, TOP + HEIGHT + 22, points[index].at[:10], anchor="middle")
        yield text(x, TOP + HEIGHT + 40, points[index].revision[:7], anchor="middle")


def x_of(index: int, many: int) -> float:
    """Return where the run of this index, of so many, stands from the left."""
    return LEFT + (WIDTH * index / (many - 1) if many > 1 else WIDTH / 2)


def y_of(score: float) -> float:
    """Return where a score in [0, 1] stands from the top."""
    return TOP + HEIGHT * (1 - score)


def text(x: float, y: float, said: str, *, anchor: str = "start", size: int = 13) -> str:
    """Return a text at this place."""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
    return f"<text {place}>{safe(said)}</text>"


def safe(said: str) -> str:
    """Return a text as it may stand in SVG."""
    return escape(plain_line(said, 300), {'"': "&quot;"})
