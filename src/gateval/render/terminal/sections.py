"""The longer sections of the terminal's summary."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.decision.report import Report
from gateval.domain.plan.plan import Plan
from gateval.domain.trials.judge_verdict import Verdict
from gateval.domain.trials.trial import Assessment
from gateval.render.report.facts import FixtureFacts, SilentAgent
from gateval.render.report.gaps import Gap
from gateval.render.report.reproduce import one_fixture_command
from gateval.render.report.scores.experiments import DOWN, UP, experiment_sets
from gateval.render.report.words.counts import count, listing
from gateval.render.report.words.wording import (
    GAP_TITLES,
    evidence_icon,
    evidence_mark,
    next_step,
    own_score,
    passes,
    what_happened,
)
from gateval.render.terminal.page import Page

SHOWN = 20
"""Entries shown per section."""


def experiments(page: Page, report: Report) -> None:
    """Add each experiment with its scorers' averages, and the difference to before."""
    for found in experiment_sets(report):
        page.heading(f"Experiment: {found.name} ({found.against})")
        for line in found.lines:
            style = {UP: "green", DOWN: "red"}.get(line.change[:1], "")
            page.line(str(line), indent=2, style=style)


def fixtures(page: Page, title: str, facts: Sequence[FixtureFacts], plan: Plan) -> None:
    """Add fixtures that are worse than they should be: what broke, and how to run it again."""
    if not facts:
        return
    page.heading(title)
    for fact in facts[:SHOWN]:
        name = f"{fact.fixture.name} ({fact.planned.shown_name}, {fact.compared.head.severity})"
        score = own_score(fact.compared)
        passed = f"{name}: {passes(fact.compared)}{f', {score}' if score else ''}"
        page.line(passed, indent=2, style="bold")
        for assessment in fact.told:
            _assessment(page, fact, assessment)
        if not fact.broken and fact.worst is not None:
            page.line(fact.worst.reason, indent=4)
            page.verbatim(fact.worst.detail, indent=6)
        page.command(one_fixture_command(plan, fact), indent=4)
    _more(page, len(facts))


def _assessment(page: Page, fact: FixtureFacts, assessment: Assessment) -> None:
    said = f"{fact.label(assessment)} {what_happened(assessment)}: {assessment.reason}"
    page.line(f"{said} ({fact.place(assessment)})", indent=4)
    _evidence(page, assessment.verdict)


def _evidence(page: Page, verdict: Verdict | None) -> None:
    for violation in verdict.violations if verdict else ():
        mark = f"{evidence_icon(violation)} {evidence_mark(violation)}."
        page.line(f"{mark} {violation.severity}: {violation.rule}", indent=6)
        page.line(f"| {violation.quote}", indent=8, style="dim")


def silent(page: Page, agents: Sequence[SilentAgent], plan: Plan) -> None:
    """Add agents that no longer answer, with the last lines of their output."""
    if not agents:
        return
    page.heading("Does not answer any more")
    for agent in agents:
        worst = agent.facts[0].worst
        names = listing([fact.fixture.name for fact in agent.facts], 8)
        page.line(f"{agent.agent} (base answers): {names}", indent=2, style="bold")
        if worst is not None:
            page.line(worst.reason, indent=4)
            page.verbatim(worst.detail, indent=6)
        page.command(one_fixture_command(plan, agent.facts[0]), indent=4)


def unmeasured(page: Page, gaps: Sequence[Gap], plan: Plan) -> None:
    """Add what was not measured, and what to do."""
    if not gaps:
        return
    page.heading("Not measured")
    for gap in gaps[:SHOWN]:
        what = f"{gap.agent} on {gap.side}, {count(gap.trials, 'run')}: {GAP_TITLES[gap.cause]}"
        page.line(f"{what}. {gap.reason}", indent=2)
        _evidence(page, gap.verdict)
        page.line(next_step(gap.cause, gap.side), indent=4)
        page.line(f"{gap.cases}: {listing(gap.where)}", indent=4)
        page.verbatim(gap.detail, indent=6)
        if command := gap.again(plan):
            page.command(command, indent=4)
    _more(page, len(gaps))


def _more(page: Page, total: int) -> None:
    if total > SHOWN:
        page.line(f"and {total - SHOWN:,} more; results.v1.json holds them all", indent=2)
