"""Axes, tokens, money and time of head beside base, as dots of pairs in SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import NamedTuple
from xml.sax.saxutils import escape

from gateval.domain.calibration import LEAST_AGREEMENT, CalibrationReplay
from gateval.domain.manifests.fixture import show_axis
from gateval.domain.results.averages import group_trials
from gateval.domain.text import show_usd
from gateval.domain.trials.trial import Side, Trial
from gateval.render.page.text import seen
from gateval.render.view import ReportView

_LEFT, _WIDTH, _ROW, _TOP = 190, 420, 24, 34
_MOST = 30


class _Pair(NamedTuple):
    """One Eval: an answer's mean on head and on base; None where nobody counted."""

    name: str
    head: float | None
    base: float | None


_MEASURES: Sequence[tuple[str, Callable[[Trial], float | None], Callable[[float], str]]] = (
    ("Tokens of an answer", lambda one: one.usage.total, lambda value: f"{value:,.0f}"),
    ("Cost of an answer", lambda one: one.usage.usd, show_usd),
    ("Seconds to an answer", lambda one: one.own_seconds, lambda value: f"{value:,.1f} s"),
)


def dot_plots(view: ReportView) -> list[str]:
    """Return a plot for each measure of which something is known, as SVG."""
    grouped = group_trials(view.report.results.trials)
    sides: dict[str, tuple[list[Trial], list[Trial]]] = {}
    for (evaluation, _, side), trials in grouped.items():
        mine = sides.setdefault(evaluation, ([], []))[side is not Side.HEAD]
        mine += [one for one in trials if one.output is not None]
    names = {one.name: one.shown_name for one in view.plan.evals if one.name in sides}
    found = []
    if axes := list(_axes(view)):
        found.append(_plot("Scores by axis", axes, lambda value: f"{value:.2f}"))
    for title, amount, show in _MEASURES:
        pairs = [
            _Pair(shown, *(_mean(trials, amount) for trials in sides[name]))
            for name, shown in names.items()
        ]
        known = [one for one in pairs if one.head or one.base]
        if known:
            found.append(_plot(title, known, show))
    if replays := view.report.results.calibrations:
        found.append(_agreement(replays, _asked(view)))
    return found


def _asked(view: ReportView) -> float:
    """The agreement with people that the Evals ask of their judges, the most of them."""
    asked = [one.judge.min_agreement for one in view.plan.evals if one.wants_calibration]
    return max((LEAST_AGREEMENT if one is None else one for one in asked), default=LEAST_AGREEMENT)


def _agreement(replays: Sequence[CalibrationReplay], least: float) -> str:
    """Return Cohen's kappa of each judge with its interval, from -1 to 1, as SVG."""
    shown, width = replays[:_MOST], _WIDTH / 2
    height = _TOP + _ROW * len(shown) + 24
    line = _LEFT + width * (1 + least)
    parts = [f'<path class="between" stroke-dasharray="4 3" d="M{line:.1f} {_TOP}V{height - 20}"/>']
    parts.append(
        f'<text class="n" x="{line - 30:.1f}" y="{height - 6}">{least:.2f} is asked</text>'
    )
    for at, one in enumerate(shown):
        y, low = _TOP + _ROW * (at + 0.5), one.agreement.interval[0]
        kappa, high = one.agreement.kappa, one.agreement.interval[1]
        places = [_LEFT + width * (1 + value) for value in (low, high, kappa)]
        name = escape(seen(f"{one.calibration}: {one.binding.model}")[:26])
        parts.append(f'<text x="0" y="{y + 4:.0f}">{name}</text>')
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.0f}h{_WIDTH}"/>')
        parts.append(f'<path class="between" d="M{places[0]:.1f} {y:.0f}H{places[1]:.1f}"/>')
        parts.append(f'<circle class="dot-head" cx="{places[2]:.1f}" cy="{y:.0f}" r="4"/>')
        told = f"{kappa:.2f} ({low:.2f} to {high:.2f})"
        parts.append(f'<text class="n" x="{_LEFT + _WIDTH + 10}" y="{y + 4:.0f}">{told}</text>')
    return _svg(
        "Agreement of judges with people, Cohen's kappa from -1 to 1", height, "".join(parts)
    )


def _axes(view: ReportView) -> Iterator[_Pair]:
    """Yield the axes of Evals that name any; those at 0 on both sides need no dot."""
    for compared in view.report.comparison.evals:
        shown = view.plan.eval(compared.eval).shown_name
        for one in compared.named_axes:
            if one.head or one.base:
                yield _Pair(f"{show_axis(one.axis)}, {shown}", one.head, one.base)


def _mean(trials: Sequence[Trial], amount: Callable[[Trial], float | None]) -> float | None:
    known = [value for one in trials if (value := amount(one)) is not None]
    return fmean(known) if known else None


def _plot(title: str, pairs: Sequence[_Pair], show: Callable[[float], str]) -> str:
    most = max(value or 0.0 for one in pairs for value in (one.head, one.base))
    shown = pairs[:_MOST]
    height = _TOP + _ROW * len(shown) + 8
    left = f", {len(pairs) - _MOST:,} more Evals" if len(pairs) > _MOST else ""
    rows = "".join(
        part for at, one in enumerate(shown) for part in _row(one, _TOP + _ROW * at, most, show)
    )
    return _svg(f"{title}, head beside base", height, rows, f"{title}{left}")


def _svg(title: str, height: float, parts: str, shown: str = "") -> str:
    return (
        f'<svg class="plot" role="img" viewBox="0 0 {_LEFT + _WIDTH + 130} {height}">'
        f'<title>{title}</title><text class="title" x="0" y="16">{shown or title}</text>'
        f"{parts}</svg>"
    )


def _row(one: _Pair, top: float, most: float, show: Callable[[float], str]) -> Iterator[str]:
    y = top + _ROW / 2
    yield f'<text x="0" y="{y + 4:.0f}">{escape(seen(one.name)[:26])}</text>'
    yield f'<path class="grid" d="M{_LEFT} {y:.0f}h{_WIDTH}"/>'
    places = [
        None if value is None else _LEFT + _WIDTH * value / most for value in (one.head, one.base)
    ]
    head, base = places
    if head is not None and base is not None:
        yield f'<path class="between" d="M{base:.1f} {y:.0f}H{head:.1f}"/>'
    if base is not None:
        yield f'<circle class="dot-base" cx="{base:.1f}" cy="{y:.0f}" r="5"/>'
    if head is not None:
        yield f'<circle class="dot-head" cx="{head:.1f}" cy="{y:.0f}" r="4"/>'
    told = " / ".join("?" if value is None else show(value) for value in (one.head, one.base))
    yield f'<text class="n" x="{_LEFT + _WIDTH + 10}" y="{y + 4:.0f}">{told}</text>'
