"""The summary in a terminal: the comment's facts, compact."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.decision.report import Report
from gateval.domain.results.comparison import FixtureChange
from gateval.domain.verdicts import GateVerdict
from gateval.render.report.bar import lowered_bar, met_bar, shown_evals
from gateval.render.report.certainty import certainty
from gateval.render.report.evidence import doubts_on_evidence
from gateval.render.report.facts import (
    FixtureFacts,
    FixtureStatus,
    gather,
    silent_agents,
    with_status,
)
from gateval.render.report.gaps import find_gaps
from gateval.render.report.labels import label_lines
from gateval.render.report.reproduce import reproduce_command
from gateval.render.report.rises import rise_lines, told_of_spending
from gateval.render.report.scores.axes import by_axis, moved, score_lines
from gateval.render.report.scores.benchmarks import benchmark_lines
from gateval.render.report.usage import AgentUsage, Spent, scripted_models, usage_by_agent
from gateval.render.report.words.counts import count, listing
from gateval.render.report.words.headline import headline
from gateval.render.report.words.kinds import words_of
from gateval.render.report.words.plan_wording import removed_sentence, revisions
from gateval.render.report.words.wording import (
    base_score,
    delta,
    eval_verdict,
    fixtures_passed,
    regressed_title,
    score,
)
from gateval.render.terminal.page import Page
from gateval.render.terminal.sections import experiments, fixtures, silent, unmeasured

STYLES = {
    GateVerdict.PASS: "green",
    GateVerdict.FAIL: "red",
    GateVerdict.INCOMPLETE: "yellow",
    GateVerdict.INCONCLUSIVE: "yellow",
    GateVerdict.BYPASSED: "yellow",
}


_RISES = 6
"""Sentences on money and time."""


def render_summary(report: Report, *, width: int = 100, color: bool = False) -> str:
    """Return the summary, at most `width` columns wide; with `color`, ANSI colours of our own."""
    page = Page(width, color=color)
    facts = gather(report)
    _verdict(page, report)
    _listed(page, "Labels", [str(line) for line in label_lines(report.decision)])
    _table(page, report)
    experiments(page, report)
    plan = report.results.plan
    _listed(page, "Benchmarks", benchmark_lines(report))
    _listed(page, "Axes", moved(report))
    fixtures(page, regressed_title(plan.policy), with_status(facts, FixtureStatus.REGRESSED), plan)
    silent(page, silent_agents(facts), plan)
    fixtures(page, "Looks worse, not certain", with_status(facts, FixtureStatus.SUSPECT), plan)
    fixtures(page, "Failing", with_status(facts, FixtureStatus.FAILING), plan)
    _listed(page, "The bar", lowered_bar(report))
    _listed(page, "Evidence", doubts_on_evidence(report))
    _listed(page, "Money and time", told_of_spending(report))
    unmeasured(page, find_gaps(facts), plan)
    _listed(page, "By axis", [str(one) for one in (*score_lines(report), *by_axis(facts))])
    _listed(page, "The bar moves, and head meets it", met_bar(report))
    _notes(page, report, facts)
    _run(page, report)
    return page.text()


def _verdict(page: Page, report: Report) -> None:
    plan, verdict = report.results.plan, report.decision.verdict
    page.line(f"Gateval: {verdict} \N{EM DASH} {headline(report)}", style=f"bold {STYLES[verdict]}")
    page.line(revisions(plan))
    if plan.fresh:
        page.line(plan.fresh, style="yellow")
    if scripted := scripted_models(report):
        page.line(f"scripted model: {', '.join(scripted)}", style="yellow")


def _table(page: Page, report: Report) -> None:
    rows = []
    plan = report.results.plan
    for compared in shown_evals(report):
        verdict, words = eval_verdict(report.decision, compared.eval)
        cells = (
            compared.agent,
            plan.eval(compared.eval).shown_name,
            score(compared.head),
            base_score(compared),
            delta(compared),
            compared.head.asks,
            fixtures_passed(compared.head),
            words,
        )
        rows.append((cells, STYLES[verdict]))
    if rows:
        called = words_of(plan.eval(one.eval).kind for one in shown_evals(report))
        header = (
            "Agent",
            called.manifest,
            "Score",
            "Base",
            "Δ",
            "Threshold",
            called.cases,
            "Verdict",
        )
        page.table(header, rows)


def _listed(page: Page, title: str, lines: Sequence[str]) -> None:
    if lines:
        page.heading(title)
    for line in lines:
        page.line(line, indent=2)


def _notes(page: Page, report: Report, facts: Sequence[FixtureFacts]) -> None:
    plan = report.results.plan
    improved = [f.fixture.name for f in facts if f.compared.change is FixtureChange.IMPROVED]
    passing = with_status(facts, FixtureStatus.PASSING)
    notes = [f"asked for the first time: {provider}" for provider in plan.new_providers]
    notes += [f"warning: {warning}" for warning in (*plan.warnings, *report.results.info.warnings)]
    notes += certainty(report)
    notes += [f"no longer evaluated: {removed_sentence(entry)}" for entry in plan.removed]
    if improved:
        notes.append(f"improved: {listing(improved, 8)}")
    if passing:
        noun = words_of(one.planned.kind for one in passing).case
        notes.append(f"passing: {count(len(passing), noun)}")
    for change in plan.changes:
        reasons = listing([str(reason) for reason in change.reasons], 4)
        notes.append(f"{change.agent} is {change.kind}: {reasons}")
    _section(page, notes)


def _run(page: Page, report: Report) -> None:
    info = report.results.info
    lines = [
        f"{used.agent}: {counted}" for used in usage_by_agent(report) if (counted := _counted(used))
    ]
    lines += rise_lines(report)[:_RISES] if lines else ()
    if report.results.trials:
        took = f" in {info.seconds:.1f} s" if info.seconds else ""
        lines.append(f"{count(len(report.results.trials), 'trial')}{took}")
    if info.isolation:
        lines.append(f"isolation: {info.isolation}")
    lines.append("To do the same again:")
    _section(page, lines)
    page.command(reproduce_command(report.results.plan))


def _counted(used: AgentUsage) -> str:
    """Return what was counted; empty if nobody counted anything, as for a program's own calls."""
    if not any(spent.tokens.known for _, spent in used.sides):
        return ""
    return "; ".join(f"{side} {_spent(spent)}" for side, spent in used.sides)


def _spent(spent: Spent) -> str:
    time = "" if spent.seconds is None else f", {spent.time} an answer"
    return f"{spent.tokens}, {spent.money}{time}"


def _section(page: Page, lines: Sequence[str]) -> None:
    for position, line in enumerate(lines):
        if position:
            page.line(line)
        else:
            page.heading(line, style="")
