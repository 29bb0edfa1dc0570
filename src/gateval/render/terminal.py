"""The summary in a terminal: the comment's facts, compact."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.comparison import Change
from gateval.domain.decision import GateVerdict
from gateval.domain.report import Report
from gateval.domain.trial import Assessment
from gateval.domain.verdict import Verdict
from gateval.render.facts import (
    FixtureFacts,
    SilentAgent,
    Standing,
    gather,
    silent_agents,
    standing,
)
from gateval.render.gaps import Gap, find_gaps
from gateval.render.headline import headline
from gateval.render.page import Page
from gateval.render.reproduce import reproduce_command
from gateval.render.usage import scripted_models, usage_by_agent
from gateval.render.wording import (
    GAP_TITLES,
    base_score,
    count,
    delta,
    eval_verdict,
    evidence_icon,
    evidence_mark,
    fixtures_passed,
    listing,
    next_step,
    passes,
    regressed_title,
    removed_sentence,
    revisions,
    score,
    what_happened,
)

SHOWN = 20
"""Fixtures shown per section."""

STYLES = {
    GateVerdict.PASS: "green",
    GateVerdict.FAIL: "red",
    GateVerdict.INCOMPLETE: "yellow",
    GateVerdict.INCONCLUSIVE: "yellow",
}


def render_summary(report: Report, *, width: int = 100, color: bool = False) -> str:
    """Return the summary, at most `width` columns wide; with `color`, ANSI colours of our own."""
    page = Page(width, color=color)
    facts = gather(report)
    _verdict(page, report)
    _table(page, report)
    for title, which in (
        (regressed_title(report.results.plan.policy), Standing.REGRESSED),
        ("Looks worse, not certain", Standing.SUSPECT),
        ("Failing", Standing.FAILING),
    ):
        _fixtures(page, title, standing(facts, which))
    _silent(page, silent_agents(facts))
    _gaps(page, find_gaps(facts))
    _notes(page, report, facts)
    _run(page, report)
    return page.text()


def _verdict(page: Page, report: Report) -> None:
    plan, verdict = report.results.plan, report.decision.verdict
    page.line(f"Gateval: {verdict} \N{EM DASH} {headline(report)}", style=f"bold {STYLES[verdict]}")
    page.line(revisions(plan))
    if scripted := scripted_models(report):
        page.line(f"scripted model: {', '.join(scripted)}", style="yellow")


def _table(page: Page, report: Report) -> None:
    rows = []
    for compared in report.comparison.evals:
        verdict, words = eval_verdict(report.decision, compared.eval)
        cells = (
            compared.agent,
            compared.eval,
            score(compared.head),
            base_score(compared),
            delta(compared),
            f"{compared.head.threshold:.2f}",
            fixtures_passed(compared.head),
            words,
        )
        rows.append((cells, STYLES[verdict]))
    if rows:
        header = ("Agent", "Eval", "Score", "Base", "Δ", "Threshold", "Fixtures", "Verdict")
        page.table(header, rows)


def _fixtures(page: Page, title: str, facts: Sequence[FixtureFacts]) -> None:
    if not facts:
        return
    page.heading(title)
    for fact in facts[:SHOWN]:
        name = f"{fact.fixture.name} ({fact.planned.name}, {fact.compared.head.severity})"
        page.line(f"{name}: {passes(fact.compared)}", indent=2, style="bold")
        for assessment in fact.broken:
            _assessment(page, fact, assessment)
        if not fact.broken and fact.worst is not None:
            page.line(fact.worst.reason, indent=4)
    _more(page, len(facts))


def _assessment(page: Page, fact: FixtureFacts, assessment: Assessment) -> None:
    said = f"{assessment.type} {what_happened(assessment)}: {assessment.reason}"
    page.line(f"{said} ({fact.place(assessment)})", indent=4)
    _evidence(page, assessment.verdict)


def _evidence(page: Page, verdict: Verdict | None) -> None:
    for violation in verdict.violations if verdict else ():
        mark = f"{evidence_icon(violation)} {evidence_mark(violation)}."
        page.line(f"{mark} {violation.severity}: {violation.rule}", indent=6)
        page.line(f"| {violation.quote}", indent=8, style="dim")


def _silent(page: Page, agents: Sequence[SilentAgent]) -> None:
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


def _gaps(page: Page, gaps: Sequence[Gap]) -> None:
    shown = [gap for gap in gaps if not gap.silent]
    if not shown:
        return
    page.heading("Not measured")
    for gap in shown[:SHOWN]:
        what = f"{gap.agent} on {gap.side}, {count(gap.trials, 'trial')}: {GAP_TITLES[gap.cause]}"
        page.line(f"{what}. {gap.reason}", indent=2)
        _evidence(page, gap.verdict)
        page.line(next_step(gap.cause, gap.side), indent=4)
        page.line(f"Fixtures: {listing(gap.where)}", indent=4)
        page.verbatim(gap.detail, indent=6)
    _more(page, len(shown))


def _notes(page: Page, report: Report, facts: Sequence[FixtureFacts]) -> None:
    plan = report.results.plan
    improved = [f.fixture.name for f in facts if f.compared.change is Change.IMPROVED]
    passing = len(standing(facts, Standing.PASSING))
    notes = [f"warning: {warning}" for warning in plan.warnings]
    notes += [f"no longer evaluated: {removed_sentence(entry)}" for entry in plan.removed]
    if improved:
        notes.append(f"improved: {listing(improved, 8)}")
    if passing:
        notes.append(f"passing: {count(passing, 'fixture')}")
    for change in plan.changes:
        reasons = listing([str(reason) for reason in change.reasons], 4)
        notes.append(f"{change.agent} is {change.kind}: {reasons}")
    _section(page, notes)


def _run(page: Page, report: Report) -> None:
    info = report.results.info
    lines = [
        f"tokens of {used.agent}: head {used.head}; base {used.base}; judge {used.judge}"
        for used in usage_by_agent(report)
    ]
    if report.results.trials:
        took = f" in {info.seconds:.1f} s" if info.seconds else ""
        lines.append(f"{count(len(report.results.trials), 'trial')}{took}")
    if info.isolation:
        lines.append(f"isolation: {info.isolation}")
    lines.append("To do the same again:")
    _section(page, lines)
    page.command(reproduce_command(report.results.plan))


def _section(page: Page, lines: Sequence[str]) -> None:
    for position, line in enumerate(lines):
        if position:
            page.line(line)
        else:
            page.heading(line, style="")


def _more(page: Page, total: int) -> None:
    if total > SHOWN:
        page.line(f"and {total - SHOWN:,} more; results.v1.json holds them all", indent=2)
