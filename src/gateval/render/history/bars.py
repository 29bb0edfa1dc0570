"""A table of benchmarks as bars: a group for each benchmark, a bar for each Agent."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from gateval.domain.history.compared.table import Table, TableCell
from gateval.domain.manifests.evaluation import SCORE_FROM
from gateval.safe.sanitize import plain_line

_COLORS = ("#2166ac", "#b2182b", "#1b7837", "#762a83", "#bf812d", "#35978f", "#636363", "#c51b7d")
_LEFT, _TOP, _HEIGHT, _BAR, _GAP = 56, 44, 260, 26, 28


def render_bars(table: Table) -> str:
    """Return an SVG document; the dashed line is where `pass` begins."""
    group = _BAR * len(table.rows) + _GAP
    width = max(240, group * len(table.benchmarks))
    height = _TOP + _HEIGHT + 60 + 20 * len(table.rows)
    box = f"0 0 {_LEFT + width + 24} {height}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" font-family="sans-serif">',
        '<rect width="100%" height="100%" fill="white"/>',
        _text(_LEFT, 24, "Scores of benchmarks", size=15),
        *_grid(width),
        *_bars(table, group),
        *_legend(table),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _grid(width: int) -> Iterator[str]:
    for tenth in range(0, 11, 2):
        y = _y(tenth / 10)
        yield f'<path d="M{_LEFT} {y:.1f}h{width}" stroke="#dddddd"/>'
        yield _text(_LEFT - 8, y + 4, f"{tenth / 10:.1f}", anchor="end")
    dashed = 'stroke="#555555" stroke-dasharray="5 4"'
    yield f'<path d="M{_LEFT} {_y(SCORE_FROM):.1f}h{width}" {dashed}/>'


def _bars(table: Table, group: int) -> Iterator[str]:
    for number, name in enumerate(table.benchmarks):
        left = _LEFT + _GAP / 2 + number * group
        for at, row in enumerate(table.rows):
            cell = row.cells[number]
            if cell is not None:
                yield _bar(left + at * _BAR, cell, row.name, _COLORS[at % len(_COLORS)])
        middle = left + _BAR * len(table.rows) / 2
        yield _text(middle, _TOP + _HEIGHT + 22, name, anchor="middle")


def _bar(x: float, cell: TableCell, name: str, color: str) -> str:
    top, end = _y(cell.low), _y(cell.high)
    middle = x + _BAR / 2
    title = _safe(f"{name}, {cell.benchmark}: {cell.shown}")
    return (
        f'<g><title>{title}</title><rect x="{x + 2:.1f}" y="{top:.1f}" width="{_BAR - 4}" '
        f'height="{_TOP + _HEIGHT - top:.1f}" fill="{color}"/>'
        f'<path d="M{middle:.1f} {end:.1f}V{top:.1f}" stroke="{color}" stroke-opacity="0.4" '
        f'stroke-width="4"/></g>'
    )


def _legend(table: Table) -> Iterator[str]:
    for at, row in enumerate(table.rows):
        y = _TOP + _HEIGHT + 50 + 20 * at
        color = _COLORS[at % len(_COLORS)]
        yield f'<rect x="{_LEFT}" y="{y - 10}" width="12" height="12" fill="{color}"/>'
        yield _text(_LEFT + 20, y, row.name)


def _y(score: float) -> float:
    return _TOP + _HEIGHT * (1 - score)


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 13) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
    return f"<text {place}>{_safe(text)}</text>"


def _safe(text: str) -> str:
    return escape(plain_line(text, 300), {'"': "&quot;"})
