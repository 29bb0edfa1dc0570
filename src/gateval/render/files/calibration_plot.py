"""The plot of `gateval calibrate` as SVG: each judge's agreement with its interval."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.results.calibration_report import CalibratedJudge, CalibrationReport
from gateval.render.svg import svg, text
from gateval.safe.sanitize import plain_line

_LEFT, _TOP, _WIDTH, _ROW = 20, 60, 560, 46
_NAME = 120
"""Characters of a judge's name."""


def render_calibration_plot(found: CalibrationReport) -> str:
    """Return an SVG document. Names in it are people's, and escaped."""
    height = _TOP + _ROW * len(found.judges) + 40
    parts = [
        text(_LEFT, 26, "Agreement of judges with people: Cohen's kappa and 95 %", size=15),
        *_scale(height),
    ]
    for number, judge in enumerate(found.judges):
        parts += _judge(judge, _TOP + _ROW * number)
    return svg(_LEFT + _WIDTH + 20, height, parts)


def _scale(height: int) -> Iterator[str]:
    for step in range(-4, 5):
        x = _x(step / 4)
        yield f'<path d="M{x:.1f} {_TOP - 14}V{height - 34}" stroke="#dddddd"/>'
        yield text(x, height - 14, f"{step / 4:g}", anchor="middle")


def _judge(one: CalibratedJudge, top: float) -> Iterator[str]:
    y = top + 26
    colour = "#1b7837" if one.phase == "Calibrated" else "#b2182b"
    name = plain_line(f"{one.calibration}: {one.model}", _NAME)
    yield text(_LEFT, top + 8, f"{name} ({one.phase}, {one.scored} scored)")
    if one.low is not None and one.high is not None and one.kappa is not None:
        line = f"M{_x(one.low):.1f} {y}H{_x(one.high):.1f}"
        yield f'<path d="{line}" stroke="{colour}" stroke-width="3"/>'
        yield f'<circle cx="{_x(one.kappa):.1f}" cy="{y}" r="5" fill="{colour}"/>'
    yield f'<path d="M{_x(one.least):.1f} {y - 8}v16" stroke="black" stroke-dasharray="3 2"/>'


def _x(value: float) -> float:
    return _LEFT + _WIDTH * (value + 1) / 2
