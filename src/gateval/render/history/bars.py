"""A table of benchmarks as bars: a group for each benchmark, a bar for each Agent."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.history.compared.table import Table, TableCell
from gateval.domain.manifests.scoring import SCORE_FROM
from gateval.render.history.plot import HEIGHT, LEFT, TOP, score_grid, y_of
from gateval.render.svg import safe, svg, text

_COLORS = ("#2166ac", "#b2182b", "#1b7837", "#762a83", "#bf812d", "#35978f", "#636363", "#c51b7d")
_BAR, _GAP = 26, 28


def render_bars(table: Table) -> str:
    """Return an SVG document; the dashed line is where `pass` begins."""
    group = _BAR * len(table.rows) + _GAP
    width = max(240, group * len(table.benchmarks))
    height = TOP + HEIGHT + 60 + 20 * len(table.rows)
    parts = [
        text(LEFT, 24, "Scores of benchmarks", size=15),
        *score_grid(width, SCORE_FROM),
        *_bars(table, group),
        *_legend(table),
    ]
    return svg(LEFT + width + 24, height, parts)


def _bars(table: Table, group: int) -> Iterator[str]:
    for number, name in enumerate(table.benchmarks):
        left = LEFT + _GAP / 2 + number * group
        for at, row in enumerate(table.rows):
            cell = row.cells[number]
            if cell is not None and cell.low is not None and cell.high is not None:
                yield _bar(
                    left + at * _BAR,
                    cell,
                    (cell.low, cell.high),
                    row.name,
                    _COLORS[at % len(_COLORS)],
                )
        middle = left + _BAR * len(table.rows) / 2
        yield text(middle, TOP + HEIGHT + 22, name, anchor="middle")


def _bar(x: float, cell: TableCell, ends: tuple[float, float], name: str, color: str) -> str:
    top, end = y_of(ends[0]), y_of(ends[1])
    middle = x + _BAR / 2
    title = safe(f"{name}, {cell.benchmark}: {cell.shown}")
    return (
        f'<g><title>{title}</title><rect x="{x + 2:.1f}" y="{top:.1f}" width="{_BAR - 4}" '
        f'height="{TOP + HEIGHT - top:.1f}" fill="{color}"/>'
        f'<path d="M{middle:.1f} {end:.1f}V{top:.1f}" stroke="{color}" stroke-opacity="0.4" '
        f'stroke-width="4"/></g>'
    )


def _legend(table: Table) -> Iterator[str]:
    for at, row in enumerate(table.rows):
        y = TOP + HEIGHT + 50 + 20 * at
        color = _COLORS[at % len(_COLORS)]
        yield f'<rect x="{LEFT}" y="{y - 10}" width="12" height="12" fill="{color}"/>'
        yield text(LEFT + 20, y, row.name)
