"""What `gateval calibrate` found, as tables and a plot of intervals."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.calibration.replay import CalibrationPhase, JudgedExample
from gateval.domain.manifests.policy.words import AgreementPolicy
from gateval.domain.results.calibration_report import CalibratedJudge, CalibrationReport
from gateval.domain.text.figures import DASH, show_percent
from gateval.render.report.words.counts import count
from gateval.render.terminal.page import Page

SHOWN = 10
"""Disagreements and examples without a verdict that are shown of each judge."""

_PLOT = 50
_STYLES = {
    CalibrationPhase.CALIBRATED: "green",
    CalibrationPhase.STALE: "yellow",
    CalibrationPhase.FAILED: "red",
}


def render_calibration(found: CalibrationReport, *, width: int = 100, color: bool = False) -> str:
    """Return the text, at most `width` columns wide."""
    page = Page(width, color=color)
    for name in found.calibrations:
        _calibration(page, found.of(name))
    return page.text()


def _calibration(page: Page, judges: Sequence[CalibratedJudge]) -> None:
    first = judges[0]
    examples = first.replay.examples
    passes = sum(one.human >= 0.5 for one in examples)
    page.heading(
        f"{first.calibration}: {count(len(examples), 'example')}, of which people pass {passes}"
    )
    page.table(
        (
            "judge",
            "\N{GREEK SMALL LETTER KAPPA}",
            "95 %",
            "agree",
            "sens.",
            "spec.",
            "no verdict",
            "phase",
        ),
        [(_row(one), _STYLES[one.phase]) for one in judges],
    )
    for one in judges:
        if one.why:
            page.line(f"{one.model}: {one.why}.")
    _plot(page, judges)
    _baseline(page, first)
    for one in judges:
        _tables(page, one)


def _row(one: CalibratedJudge) -> tuple[str, ...]:
    warm = f" at {one.temperature:g}" if one.temperature else ""
    return (
        f"{one.model}{warm}",
        DASH if one.kappa is None else f"{one.kappa:.2f}",
        DASH if one.low is None else f"{one.low:.2f} to {one.high:.2f}",
        _share(one.raw_agreement),
        _share(one.sensitivity),
        _share(one.specificity),
        f"{one.missing} of {one.scored + one.missing}",
        str(one.phase),
    )


def _share(share: float | None) -> str:
    return DASH if share is None else show_percent(share)


def _baseline(page: Page, one: CalibratedJudge) -> None:
    if one.constant_baseline is not None:
        word = "pass" if one.table.table.passes >= one.table.table.fails else "fail"
        share = show_percent(one.constant_baseline)
        page.line(f'A judge that always says "{word}" would agree in {share}, with κ 0.')


def _plot(page: Page, judges: Sequence[CalibratedJudge]) -> None:
    """Draw each interval on a line from -1 to 1, with a mark where enough is."""
    least = judges[0].least
    lower = judges[0].estimate is AgreementPolicy.LOWER_BOUND
    page.heading(
        f"Agreement beyond chance; {'the lower limit' if lower else 'κ'} has to reach {least:g}"
    )
    for one in judges:
        line = [" "] * (_PLOT + 1)
        if one.low is not None and one.high is not None:
            low, high = _column(one.low), _column(one.high)
            line[low : high + 1] = "\N{BOX DRAWINGS LIGHT HORIZONTAL}" * (high - low + 1)
        line[_column(one.least)] = "\N{BOX DRAWINGS LIGHT VERTICAL}"
        if one.kappa is not None:
            line[_column(one.kappa)] = "\N{BLACK CIRCLE}"
        page.verbatim([f"{''.join(line)}  {one.model}"], indent=2)
    scale = [" "] * (_PLOT + 4)
    for mark in (-1, -0.5, 0, 0.5, 1):
        text = f"{mark:g}"
        at = _column(mark)
        scale[at : at + len(text)] = text
    page.verbatim(["".join(scale).rstrip()], indent=2)


def _column(value: float) -> int:
    return round((value + 1) / 2 * _PLOT)


def _tables(page: Page, one: CalibratedJudge) -> None:
    page.heading(one.model)
    found = one.table
    page.table(
        ("", "person: pass", "person: fail"),
        [
            (("judge: pass", str(found.true_pass), str(found.false_pass)), ""),
            (("judge: fail", str(found.false_fail), str(found.true_fail)), ""),
        ],
    )
    _examples(page, "They disagree", one.replay.disagreements)
    missing = [example for example in one.replay.examples if example.score is None]
    _examples(page, "No verdict", missing)


def _examples(page: Page, title: str, examples: Sequence[JudgedExample]) -> None:
    for example in examples[:SHOWN]:
        ref = f" ({example.trace_ref})" if example.trace_ref else ""
        page.line(f"{title} on example {example.number}{ref}:", indent=2)
        page.line(f"person {example.human:g}: {example.label or 'no reason given'}", indent=4)
        said = example.error if example.score is None else f"{example.score:g}: {example.summary}"
        page.line(f"judge {said}" if example.score is not None else said, indent=4)
    if len(examples) > SHOWN:
        page.line(f"and {len(examples) - SHOWN} more, in the JSON", indent=2)
