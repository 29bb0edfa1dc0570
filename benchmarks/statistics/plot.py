"""The plot of docs/explanation/statistics.md: how likely a drop is found, exact and simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import NamedTuple

from benchmarks.statistics import signaltest
from benchmarks.statistics.scenarios import Single, ours
from gateval.domain.statistics.design import FIXTURES, design, fixture_share, looks
from gateval.domain.statistics.power import Rates, RunSettings
from gateval.domain.statistics.walk import power

COUNT, BASE = 20, 0.95
DROPS = (0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
LEFT, TOP, WIDTH, HEIGHT = 56, 44, 570, 300

Points = list[tuple[float, float]]


class Curve(NamedTuple):
    """One rule: (drop, chance) along its exact curve, if it has one, and as simulated."""

    label: str
    colour: str
    exact: Points
    simulated: Points


def draw(runs: int) -> str:
    """Return the plot as SVG; each dot is the share of `runs` runs. Equal `runs`, equal text."""
    stored, three, one = (
        RunSettings(reps_per_fixture=3, stored=10),
        RunSettings(reps_per_fixture=3),
        RunSettings(),
    )
    return svg(
        [
            Curve("3 repetitions, 10 stored", "#7b3294", _exact(stored), _dots(ours(stored), runs)),
            Curve("3 repetitions", "#2166ac", _exact(three), _dots(ours(three), runs)),
            Curve("1 repetition, the default", "#1b7837", _exact(one), _dots(ours(one), runs)),
            Curve("signaltest, 10 against 10", "#777777", [], _dots(signaltest.once, runs)),
        ]
    )


def svg(curves: Iterable[Curve]) -> str:
    """Return the curves with axes and a legend as an SVG document."""
    box = f"0 0 {LEFT + WIDTH + 24} {TOP + HEIGHT + 56}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" font-family="sans-serif">',
        '<rect width="100%" height="100%" fill="white"/>',
        _text(LEFT, 24, f"One of {COUNT} fixtures gets worse: how often is it found?", size=15),
        *_grid(),
    ]
    for row, curve in enumerate(curves):
        parts += _drawn(curve, TOP + 18 + 20 * row)
    return "\n".join([*parts, "</svg>", ""])


def _exact(rule: RunSettings) -> Points:
    chosen = design(looks(rule.reps_per_fixture, rule.stored), fixture_share(FIXTURES, COUNT))
    drops = [step / 100 for step in range(round(100 * BASE) + 1)]
    return [(drop, power(chosen, BASE, max(0.0, BASE - drop))) for drop in drops]


def _dots(once: Callable[[Random, Rates, int], Single], runs: int) -> Points:
    result = []
    for drop in DROPS:
        random, steady = Random(f"{drop}"), (BASE,) * (COUNT - 1)
        rates = Rates(base=(BASE, *steady), head=(BASE - drop, *steady))
        found = sum(once(random, rates, 1).found for _ in range(runs))
        result.append((drop, found / runs))
    return result


def _grid() -> Iterable[str]:
    for percent in range(0, 101, 20):
        _, y = _place(0, percent / 100)
        yield f'<path d="M{LEFT} {y:.1f}h{WIDTH}" stroke="#dddddd"/>'
        yield _text(LEFT - 8, y + 4, f"{percent} %", anchor="end")
    for points in range(0, 91, 15):
        x, y = _place(points / 100, 0)
        yield _text(x, y + 20, f"{points}", anchor="middle")
    middle, below = LEFT + WIDTH / 2, TOP + HEIGHT + 42
    text = f"drop of its pass rate in points, from {BASE:.0%} (lines: exact; dots: simulated)"
    yield _text(middle, below, text.replace("%", " %"), anchor="middle")


def _drawn(curve: Curve, legend: float) -> Iterable[str]:
    line = " ".join("{:.1f},{:.1f}".format(*_place(*point)) for point in curve.exact)
    if line:
        yield f'<polyline points="{line}" fill="none" stroke="{curve.colour}" stroke-width="2"/>'
    for point in curve.simulated:
        x, y = _place(*point)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{curve.colour}"/>'
    yield f'<circle cx="{LEFT + 16}" cy="{legend - 4}" r="4" fill="{curve.colour}"/>'
    yield _text(LEFT + 28, legend, curve.label)


def _place(drop: float, chance: float) -> tuple[float, float]:
    return LEFT + WIDTH * drop, TOP + HEIGHT * (1 - chance)


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 13) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{text}</text>'
