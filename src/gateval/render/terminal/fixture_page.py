"""One fixture of a stored run on a page, and the list of all fixtures of a run.

Everything in stored results is untrusted: whatever is shown goes through the page's sanitiser.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, zip_longest
from typing import NamedTuple

from gateval.domain.base import canonical_json
from gateval.domain.plan.plan import Plan
from gateval.domain.text import Screen, listing
from gateval.domain.trials.trace import Step, StepKind
from gateval.domain.trials.trial import KINDS, OUTPUT_LIMIT, Trial
from gateval.render.report.bar import whom_to_ask
from gateval.render.report.evidence import (
    Difference,
    Pair,
    beside_prompt,
    first_difference,
    offer_lines,
    prompt_edit,
    short_edits,
)
from gateval.render.report.facts import FixtureFacts, in_order
from gateval.render.report.reproduce import one_fixture_command
from gateval.render.report.wording import evidence_icon, evidence_mark, own_score, passes
from gateval.render.terminal.page import TerminalReport
from gateval.render.view import FixtureView, ReportView

SHORT = 600
"""Characters shown of one step, unless all are asked for."""

Cell = list[tuple[str, str]]
"""Pieces of text and their styles, not sanitised."""


def show_steps(
    page: TerminalReport,
    fact: FixtureFacts,
    pair: Pair,
    first: Difference | None = None,
    *,
    full: bool,
) -> None:
    """Add the steps of both, those that mean the same in one row. Unless it is to be in `full`, of
    long steps the beginning, and of rows that are alike before the `first` difference the last.
    """
    limit = _ALL if full else SHORT
    if pair.head is None or pair.base is None:
        for cell in _cells(fact, pair.head or pair.base, limit):
            page.cell(cell)
        return
    if not (_has_steps(pair.head) and _has_steps(pair.base)):
        cells = _cells(fact, pair.head, limit), _cells(fact, pair.base, limit)
        none: Cell = []
        rows = list(zip_longest(*cells, fillvalue=none))
    else:
        rows = [
            (_cell(fact, pair.head, ours, limit), _cell(fact, pair.base, theirs, limit))
            for ours, theirs in pair.rows
        ]
        rows = _from_difference(rows, pair, first, full=full)
    page.columns(("head", "base"), rows)


def _from_difference(
    rows: list[tuple[Cell, Cell]], pair: Pair, first: Difference | None, *, full: bool
) -> list[tuple[Cell, Cell]]:
    """Mark the row that differs first, and fold what is alike before it but for the last row."""
    steps = (first.head_step, first.base_step) if first else None
    at = next((number for number, row in enumerate(pair.rows) if row == steps), None)
    if at is None:
        return rows
    marked = [
        [(f"\N{NOT EQUAL TO} {cell[0][0].lstrip()}", "bold yellow"), *cell[1:]] if cell else cell
        for cell in rows[at]
    ]
    said = f"{at - 1} steps before are alike; `--full` shows them"
    fold: list[tuple[Cell, Cell]] = [([(said, "dim")], [])] if at > _ALIKE and not full else []
    alike = rows[at - 1 : at] if fold else rows[:at]
    return [*fold, *alike, (marked[0], marked[1]), *rows[at + 1 :]]


_ALIKE = 4
"""Rows that are alike before the first difference and need no folding."""


def _has_steps(trial: Trial) -> bool:
    return trial.trace is not None and bool(trial.trace.steps)


def _cells(fact: FixtureFacts, trial: Trial | None, limit: int) -> list[Cell]:
    """Return one cell for each step; without a trace, one with what was said at last."""
    if trial is None:
        return []
    if trial.trace is None or not trial.trace.steps:
        said = trial.output or "no steps were seen"
        return [[("no trace", "dim"), (said[:limit], "")]]
    return [_cell(fact, trial, step, limit) for step in trial.trace.steps]


def _cell(fact: FixtureFacts, trial: Trial, step: Step | None, limit: int) -> Cell:
    if step is None:
        return []
    rests = list(_evidence(fact, trial, step.number))
    mark = ">" if rests else " "
    refused = " (refused)" if step.refused else ""
    named = step.agent or (step.conversation if step.conversation > 1 else "")
    whose = f" [{named}]" if named else ""
    title = f"{mark} {step.number} {KINDS[step.kind]}{refused}{whose}"
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


def _evidence(fact: FixtureFacts, trial: Trial, number: int) -> Iterator[tuple[str, str]]:
    """Yield what did not pass and rests on this step, and what a judge quotes from it."""
    for assessment in trial.assessments:
        failed = not assessment.passed
        if failed and number in assessment.steps:
            ended, _, _ = fact.ended(assessment).partition(" at step")
            yield f"^ {fact.label(assessment)} {ended}: {assessment.reason}", "red"
        for violation in assessment.verdict.violations if assessment.verdict else ():
            if violation.evidence_step == number:
                said = f"{evidence_icon(violation)} {evidence_mark(violation)}"
                yield f"^ {said}. {violation.severity}: {violation.rule}", "red"
                yield f"| {violation.quote}", "dim"


def show_assessments(page: TerminalReport, fact: FixtureFacts, trial: Trial) -> None:
    """Add how each assertion ended, and where it stands."""
    for one in trial.assessments:
        passed = one.passed
        icon = "\N{CHECK MARK}" if passed else "\N{BALLOT X}"
        said = f"{icon} {fact.label(one)} {fact.ended(one)}: {one.reason} ({fact.place(one)})"
        page.line(said, indent=2, style="" if passed else "red")


_ALL = 10 * OUTPUT_LIMIT


class ShowOptions(NamedTuple):
    """How to show a trial: on which screen, which repetition (None for the worst), and how much of
    each step.
    """

    screen: Screen
    repetition: int | None = None
    full: bool = False


def render_fixture(plan: Plan, fact: FixtureFacts, look: ShowOptions) -> str:
    """Return a trial of one fixture with all its steps, head beside base."""
    page = TerminalReport(look.screen)
    name = f"{fact.fixture.name} ({fact.planned.shown_name}, {fact.fixture.severity})"
    score = own_score(fact.compared)
    passed = f"{name}: {passes(fact.compared)}{f', {score}' if score else ''}"
    page.line(passed, style="bold")
    if fact.fixture.description:
        page.line(fact.fixture.description)
    pair = FixtureView(fact, ()).pair(look.repetition)
    for trial in (pair.head, pair.base):
        if trial is not None:
            page.line(_ended(trial))
    found_first = first_difference(fact, pair)
    if found_first is not None:
        page.line(f"First difference: {found_first}.", style="yellow")
        _changed(page, plan, fact.planned.agent)
    show_steps(page, fact, pair, found_first, full=look.full)
    if fact.stands is not None:
        page.line(fact.why, style="red")
        if fact.stands.excerpt:
            page.heading("What head did then")
            page.verbatim(fact.stands.excerpt.splitlines(), indent=2)
    if pair.head is not None:
        if pair.head.assessments:
            page.heading("What head had to meet")
        show_assessments(page, fact, pair.head)
        if pair.head.detail:
            page.heading("What head printed")
            page.verbatim(pair.head.detail, indent=2)
    _people(page, fact, pair.head)
    _foot(page, plan, fact)
    return page.text()


def _changed(page: TerminalReport, plan: Plan, name: str) -> None:
    """Add what the revision changes in an Agent; whether it is the cause is for the reader to say.

    Of files, the lines where they are few.
    """
    edit = prompt_edit(plan, name)
    change = next((one for one in plan.changes if one.agent == name), None)
    rest = beside_prompt(change, edit) if change else None
    files, left = short_edits(plan, rest) if rest else ([], None)
    shown = [(edit.where or "prompt", edit.lines)] if edit else []
    for where, lines in [*shown, *((one.name, one.lines) for one in files)]:
        page.line(f"Changed here: {where}")
        page.edit(lines, indent=2)
    if left:
        page.line(f"Changed here: {listing([str(one) for one in left.reasons], _REASONS)}")


_REASONS = 4


def _people(page: TerminalReport, fact: FixtureFacts, head: Trial | None) -> None:
    """Add what people said of answers to a row, of this one and of others."""
    said = [one for one in fact.planned.feedback if one.fixture == fact.fixture.name]
    if said:
        page.heading("What people said")
    for one in said:
        about = head is not None and head.output is not None and one.is_about(head.output)
        which = "" if about else ", of another answer"
        who = " ".join(part for part in (one.who, one.when) if part)
        note = f": {one.note}" if one.note else ""
        page.line(f"{one.score:g}{f' by {who}' if who else ''}{which}{note}", indent=2)


def _ended(trial: Trial) -> str:
    key = trial.key
    said = f"{key.side}, repetition {key.repetition}: {trial.outcome}"
    models = f", {', '.join(trial.trace.models)}" if trial.trace and trial.trace.models else ""
    reason = f". {trial.reason}" if trial.reason else ""
    return f"{said} in {trial.seconds:.1f} s{models}{reason}"


def _foot(page: TerminalReport, plan: Plan, fact: FixtureFacts) -> None:
    numbers = [f"{one.key.repetition} {one.outcome}" for one in fact.head]
    if len(numbers) > 1:
        page.heading(f"head's repetitions: {', '.join(numbers)}", style="")
        page.line("`--repetition N` shows another one.")
    page.heading("To run it again:", style="")
    page.command(one_fixture_command(plan, fact))


def render_list(view: ReportView, run: str, screen: Screen) -> str:
    """Return the fixtures of a run, what did not pass first, and how to look at one."""
    page = TerminalReport(screen)
    page.line(f"{run}: {view.verdict} \N{EM DASH} {view.headline}", style="bold")
    facts = in_order(view.fixtures)
    for status, found in groupby(facts, key=lambda one: one.status):
        page.heading(str(status))
        for fact in found:
            name = f"{fact.planned.own_name}/{fact.fixture.name}"
            page.line(f"{name}: {passes(fact.compared)}", indent=2)
    for line in view.sealed:
        page.line(f"{line.planned.shown_name} is sealed: {line.words}")
    if view.sealed:
        page.line(whom_to_ask(view.plan))
    for said in offer_lines(view.report):
        page.line(f"For the model: {said}.")
    if facts:
        page.heading("To look at one:", style="")
        page.command(f"gateval show {run} {facts[0].planned.own_name}/{facts[0].fixture.name}")
    return page.text()
