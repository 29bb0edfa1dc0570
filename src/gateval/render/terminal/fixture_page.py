"""One fixture of a stored run on a page, and the list of all fixtures of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gateval.domain.trials.trial import OUTPUT_LIMIT, Trial
from gateval.render.report.facts import FixtureFacts, FixtureStatus, with_status
from gateval.render.report.reproduce import one_fixture_command
from gateval.render.report.sealed import whom_to_ask
from gateval.render.report.words.wording import own_score, passes
from gateval.render.terminal.page import Page
from gateval.render.terminal.trace import SHORT, show_assessments, show_steps
from gateval.render.view import FixtureView, ReportView

_ALL = 10 * OUTPUT_LIMIT


class ShowOptions(NamedTuple):
    """How to show a trial: columns, colours, which repetition (None for the worst), and how much
    of each step.
    """

    width: int
    color: bool = False
    repetition: int | None = None
    full: bool = False


def render_fixture(view: ReportView, found: FixtureView, look: ShowOptions) -> str:
    """Return a trial of one fixture with all its steps, head beside base."""
    page, fact = Page(look.width, color=look.color), found.facts
    name = f"{fact.fixture.name} ({fact.planned.shown_name}, {fact.fixture.severity})"
    score = own_score(fact.compared)
    passed = f"{name}: {passes(fact.compared)}{f', {score}' if score else ''}"
    page.line(passed, style="bold")
    if fact.fixture.description:
        page.line(fact.fixture.description)
    pair = found.pair(look.repetition)
    for trial in (pair.head, pair.base):
        if trial is not None:
            page.line(_ended(trial))
    show_steps(page, pair, limit=_ALL if look.full else SHORT)
    if pair.head is not None:
        page.heading("What head had to meet")
        show_assessments(page, fact, pair.head)
        if pair.head.detail:
            page.heading("What head printed")
            page.verbatim(pair.head.detail, indent=2)
    _people(page, fact, pair.head)
    _foot(page, view, fact)
    return page.text()


def _people(page: Page, fact: FixtureFacts, head: Trial | None) -> None:
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


def _foot(page: Page, view: ReportView, fact: FixtureFacts) -> None:
    numbers = [f"{one.key.repetition} {one.outcome}" for one in fact.head]
    if len(numbers) > 1:
        page.heading(f"head's repetitions: {', '.join(numbers)}", style="")
        page.line("`--repetition N` shows another one.")
    page.heading("To run it again:", style="")
    page.command(one_fixture_command(view.plan, fact))


def render_list(view: ReportView, run: str, *, width: int, color: bool) -> str:
    """Return the fixtures of a run, what did not pass first, and how to look at one."""
    page = Page(width, color=color)
    page.line(f"{run}: {view.verdict} \N{EM DASH} {view.headline}", style="bold")
    facts = view.fixtures
    for which in FixtureStatus:
        found = with_status(facts, which)
        if found:
            page.heading(str(which))
            _names(page, found)
    for line in view.sealed:
        page.line(f"{line.planned.shown_name} is sealed: {line.words}")
    if view.sealed:
        page.line(whom_to_ask(view.plan))
    if facts:
        first = next(fact for which in FixtureStatus for fact in with_status(facts, which))
        page.heading("To look at one:", style="")
        page.command(f"gateval show {run} {first.planned.own_name}/{first.fixture.name}")
    return page.text()


def _names(page: Page, facts: Sequence[FixtureFacts]) -> None:
    for fact in facts:
        page.line(f"{fact.planned.own_name}/{fact.fixture.name}: {passes(fact.compared)}", indent=2)
