"""A trial's steps as a person reads them: head beside base, and under each step what rests on it.

Everything in stored results is untrusted: whatever is shown goes through the page's sanitiser.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from gateval.domain.base import canonical_json
from gateval.domain.trials.trace import Step, StepKind
from gateval.domain.trials.trial import Trial
from gateval.render.report.facts import FixtureFacts
from gateval.render.report.traces import Pair
from gateval.render.report.words.excerpt import KINDS
from gateval.render.report.words.wording import evidence_icon, evidence_mark
from gateval.render.terminal.page import Page

SHORT = 600
"""Characters shown of one step, unless all are asked for."""

Cell = list[tuple[str, str]]
"""Pieces of text and their styles, not sanitised."""


def show_steps(page: Page, pair: Pair, *, limit: int) -> None:
    """Add the steps of both, those that mean the same in one row; at most `limit` characters of
    each step.
    """
    if pair.head is None or pair.base is None:
        for cell in _cells(pair.head or pair.base, limit):
            page.cell(cell)
        return
    if not (_has_steps(pair.head) and _has_steps(pair.base)):
        cells = _cells(pair.head, limit), _cells(pair.base, limit)
        none: Cell = []
        rows = list(zip_longest(*cells, fillvalue=none))
    else:
        rows = [
            (_cell(pair.head, ours, limit), _cell(pair.base, theirs, limit))
            for ours, theirs in pair.rows
        ]
    page.columns(("head", "base"), rows)


def _has_steps(trial: Trial) -> bool:
    return trial.trace is not None and bool(trial.trace.steps)


def _cells(trial: Trial | None, limit: int) -> list[Cell]:
    """Return one cell for each step; without a trace, one with what was said at last."""
    if trial is None:
        return []
    if trial.trace is None or not trial.trace.steps:
        said = trial.output or "no steps were seen"
        return [[("no trace", "dim"), (said[:limit], "")]]
    return [_cell(trial, step, limit) for step in trial.trace.steps]


def _cell(trial: Trial, step: Step | None, limit: int) -> Cell:
    if step is None:
        return []
    rests = list(_evidence(trial, step.number))
    mark = ">" if rests else " "
    refused = " (refused)" if step.refused else ""
    title = f"{mark} {step.number} {KINDS[step.kind]}{refused}"
    text = _text(step)
    left = len(text) - limit
    shown = text if left <= 0 else f"{text[:limit]}\N{HORIZONTAL ELLIPSIS} ({left:,} more)"
    return [(title, "bold red" if rests else "bold"), (shown, ""), *rests]


def _text(step: Step) -> str:
    if step.kind is StepKind.TOOL_CALL:
        return f"{step.tool or '?'} {canonical_json(step.arguments or {})}"
    if step.kind is StepKind.TOOL_RESULT and step.tool:
        return f"{step.tool}: {step.text}"
    return step.text


def _evidence(trial: Trial, number: int) -> Iterator[tuple[str, str]]:
    """Yield what did not pass and rests on this step, and what a judge quotes from it."""
    for assessment in trial.assessments:
        failed = not assessment.passed
        if failed and number in assessment.steps:
            yield f"^ {assessment.type} {assessment.status}: {assessment.reason}", "red"
        for violation in assessment.verdict.violations if assessment.verdict else ():
            if violation.evidence_step == number:
                said = f"{evidence_icon(violation)} {evidence_mark(violation)}"
                yield f"^ {said}. {violation.severity}: {violation.rule}", "red"
                yield f"| {violation.quote}", "dim"


def show_assessments(page: Page, fact: FixtureFacts, trial: Trial) -> None:
    """Add how each assertion ended, and where it stands."""
    for one in trial.assessments:
        passed = one.passed
        icon = "\N{CHECK MARK}" if passed else "\N{BALLOT X}"
        said = f"{icon} {fact.label(one)} {fact.ended(one)}: {one.reason} ({fact.place(one)})"
        page.line(said, indent=2, style="" if passed else "red")
