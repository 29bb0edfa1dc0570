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
from gateval.render.page.template import seen
from gateval.render.report.wording import MINUS
from gateval.render.view import ReportView

_WIDTH, _ROW, _TOP = 352, 36, 28
"""As wide as a phone shows it without scrolling; a row is a line of words above one of dots."""

_NAME = 28
"""Characters of a name that fit beside its figures."""

_MOST = 30


class _Pair(NamedTuple):
    """One Eval: an answer's mean on head and on base; None where nobody counted."""

    name: str
    head: float | None
    base: float | None


_MEASURES: Sequence[tuple[str, Callable[[Trial], float | None], Callable[[float], str]]] = (
    ("Tokens of an answer", lambda one: one.usage.total, lambda value: f"{value:,.0f}"),
    ("Cost of an answer", lambda one: one.usage.usd, show_usd),
    (
        "Seconds to an answer",
        lambda one: one.own_seconds,
        lambda value: f"{value:,.1f} s" if value >= 1 else f"{value:.2g} s",
    ),
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
    shown = replays[:_MOST]
    end = _TOP + _ROW * len(shown)
    asked = _at((1 + least) / 2)
    ends = (("start", 0, f"{MINUS}1"), ("middle", min(asked, 290), f"{least:.2f} is asked"),
            ("end", _WIDTH, "1"))  # fmt: skip
    parts = [
        f'<text class="n" text-anchor="{anchor}" x="{x:.1f}" y="{end + 14}">{told}</text>'
        for anchor, x, told in ends
    ]
    for at, one in enumerate(shown):
        low, high = one.agreement.interval
        kappa = one.agreement.kappa
        places = [_at((1 + value) / 2) for value in (low, high, kappa)]
        told = f"{kappa:.2f} ({low:.2f} to {high:.2f})"
        y, words = _words(f"{one.calibration}: {one.binding.model}", told, at)
        parts.append(words)
        parts.append(f'<path class="between" d="M{asked:.1f} {y - 6}v12"/>')
        parts.append(f'<path class="between" d="M{places[0]:.1f} {y}H{places[1]:.1f}"/>')
        parts.append(f'<circle class="dot-head" cx="{places[2]:.1f}" cy="{y}" r="4"/>')
    title = "Agreement of judges with people"
    return _svg(f"{title}, Cohen's kappa from -1 to 1", end + 20, "".join(parts), f"{title}, kappa")


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
    left = f", {len(pairs) - _MOST:,} more Evals" if len(pairs) > _MOST else ""
    rows = "".join(part for at, one in enumerate(shown) for part in _row(one, at, most, show))
    return _svg(f"{title}, head beside base", _TOP + _ROW * len(shown) + 4, rows, f"{title}{left}")


def _svg(title: str, height: float, parts: str, shown: str) -> str:
    return (
        f'<svg class="plot" role="img" viewBox="0 0 {_WIDTH} {height}">'
        f'<title>{title}</title><text class="title" x="0" y="14">{shown}</text>'
        f"{parts}</svg>"
    )


def _at(share: float) -> float:
    """Where a share of the line ends, with room for the dots at both ends."""
    return 6 + (_WIDTH - 12) * share


def _words(name: str, told: str, at: int) -> tuple[int, str]:
    """Return where the line of a row runs, and what stands above it, with the line."""
    y = _TOP + _ROW * at + 24
    name = seen(name)
    short = name if len(name) <= _NAME else f"{name[: _NAME - 1]}\N{HORIZONTAL ELLIPSIS}"
    whole = "" if short == name else f"<title>{escape(name)}</title>"
    return y, (
        f'<text x="0" y="{y - 9}">{escape(short)}{whole}</text>'
        f'<text class="n" text-anchor="end" x="{_WIDTH}" y="{y - 9}">{told}</text>'
        f'<path class="grid" d="M{_at(0):.0f} {y}H{_at(1):.0f}"/>'
    )


def _row(one: _Pair, at: int, most: float, show: Callable[[float], str]) -> Iterator[str]:
    head, base = (None if value is None else show(value) for value in (one.head, one.base))
    y, words = _words(one.name, f"{head or '?'}, base {base or '?'}", at)
    yield words
    places = [None if value is None else _at(value / most) for value in (one.head, one.base)]
    left, right = places
    if left is not None and right is not None:
        yield f'<path class="between" d="M{right:.1f} {y}H{left:.1f}"/>'
    if right is not None:
        yield f'<circle class="dot-base" cx="{right:.1f}" cy="{y}" r="5"/>'
    if left is not None:
        yield f'<circle class="dot-head" cx="{left:.1f}" cy="{y}" r="4"/>'
