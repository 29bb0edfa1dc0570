"""Judges side by side, and which one to take, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.results.judge_choice import (
    ComparedJudge,
    ComparisonReport,
    JudgeChoice,
    choice_figures,
)
from gateval.domain.results.jury_figures import jury_lines
from gateval.domain.text import DASH, PAPER, Screen, show_percent
from gateval.render.report.wording import count
from gateval.render.terminal.judges import KappaLine, draw_kappas
from gateval.render.terminal.page import TerminalReport

_TITLES = ("judge", "κ", "95 %", "bound", "errs", "1,000 cost", "seconds", "holds")


def render_choices(found: ComparisonReport, screen: Screen = PAPER) -> str:
    """Return the text: for each calibration a table, a plot, what moves each judge, and which one
    is recommended.
    """
    page = TerminalReport(screen)
    for choice in found.choices:
        _choice(page, choice)
    return page.text()


def _choice(page: TerminalReport, choice: JudgeChoice) -> None:
    examples = count(len(choice.judges[0].judged.replay.examples), "example")
    page.heading(f"{choice.calibration}: {count(len(choice.judges), 'judge')}, {examples}")
    rows = [(_row(one), "green" if one.is_eligible else "yellow") for one in choice.judges]
    page.table(_TITLES, rows, spare=("95 %", "seconds"))
    page.heading(f"From the bound up; it has to reach {choice.least:g}")
    lines = [
        KappaLine(one.name, one.bound, one.judged.kappa, one.judged.high) for one in choice.judges
    ]
    draw_kappas(page, lines, choice.least)
    page.heading("What moves them")
    for one in choice.judges:
        page.line(one.name, indent=2)
        for line in _moved(one):
            page.line(line, indent=4)
    page.heading("Which one")
    for line in choice.words:
        page.line(line)


def _row(one: ComparedJudge) -> tuple[str, ...]:
    judged, (errs, bound, price, seconds, *_) = one.judged, choice_figures(one)
    return (
        one.name,
        DASH if judged.kappa is None else f"{judged.kappa:.2f}",
        DASH if judged.low is None else f"{judged.low:.2f} to {judged.high:.2f}",
        bound.removeprefix("bound "),
        errs.removeprefix("errs "),
        price.removesuffix(" for 1,000"),
        seconds,
        "yes" if one.is_eligible else "no" if one.is_measured else "not measured",
    )


def _moved(one: ComparedJudge) -> Iterator[str]:
    """Yield in sentences what was tried on a judge, and why it says nothing, if so."""
    if not one.is_measured:
        why = next((each.error for each in one.judged.replay.examples if each.error), "")
        yield f"Not measured: {why or one.judged.why}"
        return
    if (tried := one.injected) is not None:
        limits = f"95 % {show_percent(tried.low)} to {show_percent(tried.high)}"
        yield f"Passed a bad answer after {tried.through} of {tried.asked} attacks ({limits})."
    if (length := one.length) is not None:
        more = f"{100 * length.more:.0f} points"
        yield f"Passes longer answers more often by {more}, by chance with p {length.p:.2f}."
    if (place := one.position) is not None:
        where = f"first in {place.first} and to the second in {place.second}"
        yield f"Of {place.pairs} pairs it kept to the {where}, by chance with p {place.p:.2f}."
    if one.judged.table.missing:
        yield f"No verdict on {count(one.judged.table.missing, 'example')}."
    yield from jury_lines(one.judged.jury) if one.judged.jury else ()
