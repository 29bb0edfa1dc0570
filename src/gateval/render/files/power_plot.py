"""The plot of `gateval aa` as SVG: how often a drop in one fixture would be found."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.results.self_check import SelfCheck
from gateval.render.svg import svg, text

_LEFT, _TOP, _WIDTH, _HEIGHT = 56, 44, 480, 260


def render_power_plot(found: SelfCheck) -> str:
    """Return an SVG document. Nothing in it was written by anybody else."""
    points = [_place(one.drop, one.chance) for one in found.power]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts = [
        text(_LEFT, 24, "A fixture gets worse: how often is it found?", size=15),
        *_grid(),
        f'<polyline points="{line}" fill="none" stroke="#1b7837" stroke-width="2"/>',
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="#1b7837"/>' for x, y in points),
    ]
    return svg(_LEFT + _WIDTH + 24, _TOP + _HEIGHT + 56, parts)


def _grid() -> Iterator[str]:
    for percent in range(0, 101, 20):
        _, y = _place(0, percent / 100)
        yield f'<path d="M{_LEFT} {y:.1f}h{_WIDTH}" stroke="#dddddd"/>'
        yield text(_LEFT - 8, y + 4, f"{percent} %", anchor="end")
    for points in range(0, 101, 20):
        x, y = _place(points / 100, 0)
        yield text(x, y + 20, str(points), anchor="middle")
    yield text(
        _LEFT + _WIDTH / 2, _TOP + _HEIGHT + 42, "drop of its pass rate in points", anchor="middle"
    )


def _place(drop: float, chance: float) -> tuple[float, float]:
    return _LEFT + _WIDTH * drop, _TOP + _HEIGHT * (1 - chance)
