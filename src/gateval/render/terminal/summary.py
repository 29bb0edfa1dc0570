"""The summary in a terminal: the view of a report, compact."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from gateval.domain.text import PAPER, Screen, listing
from gateval.domain.trials.trial import Verdict
from gateval.domain.verdicts import GateVerdict
from gateval.render.report.facts import FailureGroup, FixtureFacts
from gateval.render.report.reproduce import after_check, one_fixture_command
from gateval.render.report.scores import DOWN, UP
from gateval.render.report.usage import AgentUsage, Spent
from gateval.render.report.wording import (
    count,
    evidence_icon,
    evidence_mark,
    own_score,
    passes,
    words_of,
)
from gateval.render.terminal.page import TerminalReport
from gateval.render.view import ReportView, Section, SectionKind

STYLES = {
    GateVerdict.PASS: "green",
    GateVerdict.FAIL: "red",
    GateVerdict.INCOMPLETE: "yellow",
    GateVerdict.INCONCLUSIVE: "yellow",
    GateVerdict.BYPASSED: "yellow",
}

SHOWN = 20
"""Entries shown per section."""

_RISES = 6
"""Sentences on money and time."""


def render_summary(view: ReportView, screen: Screen = PAPER) -> str:
    """Return the summary, laid out for a screen, its colours ANSI codes of our own."""
    page = TerminalReport(screen)
    _verdict(page, view)
    _listed(page, "Labels", [str(line) for line in view.labels])
    for section in view.sections:
        if section.kind not in _LATER:
            _SHOW.get(section.kind, _list)(page, view, section)
    _notes(page, view)
    _run(page, view)
    return page.text()


def render_next_step(view: ReportView, results: str, screen: Screen) -> str:
    """Return what to do after a check; `results` is the path of its folder, if that was chosen."""
    page = TerminalReport(screen)
    said, commands = after_check(view.report, results)
    page.line(f"Next: {said}")
    for command in commands:
        page.command(command)
    return page.text()


def _verdict(page: TerminalReport, view: ReportView) -> None:
    style = f"bold {STYLES[view.verdict]}"
    page.line(f"Gateval: {view.verdict} \N{EM DASH} {view.headline}", style=style)
    page.line(view.revisions)
    if view.plan.fresh:
        page.line(view.plan.fresh, style="yellow")
    if view.scripted:
        page.line(f"scripted model: {view.scripted}", style="yellow")


def _table(page: TerminalReport, _: ReportView, section: Section) -> None:
    page.table(section.columns, [(row[:-2], STYLES[row.verdict]) for row in section.whole])


def _list(page: TerminalReport, _: ReportView, section: Section) -> None:
    _listed(page, section.title, [*section.said, *map(str, section.whole)])


def _sealed(page: TerminalReport, _: ReportView, section: Section) -> None:
    page.heading(section.title)
    page.table(section.columns, [(one.cells, STYLES[one.verdict]) for one in section.items])
    for line in section.said:
        page.line(line, indent=2)


def _listed(page: TerminalReport, title: str, lines: Sequence[str]) -> None:
    if lines:
        page.heading(title)
    for line in lines:
        page.line(line, indent=2)


def _experiment(page: TerminalReport, _: ReportView, section: Section) -> None:
    page.heading(f"{section.title} ({section.note})")
    for line in section.whole:
        style = {UP: "green", DOWN: "red"}.get(line.change[:1], "")
        page.line(str(line), indent=2, style=style)


def _fixtures(page: TerminalReport, view: ReportView, section: Section) -> None:
    """Add fixtures that are worse than they should be, by cause: what broke, where head went
    another way, who else fails so, and how to run it again.
    """
    page.heading(section.title)
    for group in section.items[:SHOWN]:
        _cause(page, view, group)
    _more(page, len(section.items))


def _cause(page: TerminalReport, view: ReportView, group: FailureGroup) -> None:
    fact = group.first
    name = f"{fact.fixture.name} ({fact.planned.shown_name}, {fact.compared.head.severity})"
    score = own_score(fact.compared)
    passed = f"{name}: {passes(fact.compared)}{f', {score}' if score else ''}"
    page.line(passed, indent=2, style="bold")
    for one in fact.told:
        said = f"{fact.label(one)} {fact.ended(one)}: {one.reason}"
        page.line(f"{said} ({fact.place(one)})", indent=4)
        _evidence(page, one.verdict)
    if not fact.broken and fact.why:
        page.line(fact.why, indent=4)
        page.verbatim(fact.worst.detail if fact.worst else (), indent=6)
    if said := view.told_difference(fact):
        page.line(f"First difference: {said}.", indent=4, style="yellow")
    if group.others:
        names = [_placed(one, fact) for one in group.others]
        page.line(f"{group.same}: {listing(names, _NAMES)}", indent=4)
    page.command(one_fixture_command(view.plan, fact), indent=4)


def _placed(fact: FixtureFacts, first: FixtureFacts) -> str:
    """Name a fixture, and where the assertion stands that broke, unless the first says that."""
    places = [fact.place(one) for one in fact.told[:1]]
    told = {first.place(one) for one in first.told}
    return " ".join([fact.fixture.name, *(f"({one})" for one in places if one not in told)])


_NAMES = 12
"""Fixtures that fail as the first of them does, by name."""


def _evidence(page: TerminalReport, verdict: Verdict | None) -> None:
    for violation in verdict.violations if verdict else ():
        mark = f"{evidence_icon(violation)} {evidence_mark(violation)}."
        page.line(f"{mark} {violation.severity}: {violation.rule}", indent=6)
        page.line(f"| {violation.quote}", indent=8, style="dim")


def _silent(page: TerminalReport, view: ReportView, section: Section) -> None:
    """Add agents that no longer answer, with the last lines of their output."""
    page.heading(section.title)
    for agent in section.items:
        worst = agent.facts[0].worst
        names = listing([fact.fixture.name for fact in agent.facts], 8)
        page.line(f"{agent.agent} (base answers): {names}", indent=2, style="bold")
        if worst is not None:
            page.line(worst.reason, indent=4)
            page.verbatim(worst.detail, indent=6)
        page.command(one_fixture_command(view.plan, agent.facts[0]), indent=4)


def _gaps(page: TerminalReport, view: ReportView, section: Section) -> None:
    """Add what was not measured, and what to do."""
    page.heading(section.title)
    for gap in section.items[:SHOWN]:
        page.line(f"{gap.title}. {gap.reason}", indent=2)
        _evidence(page, gap.verdict)
        page.line(gap.next, indent=4)
        page.line(f"{gap.cases}: {listing(gap.where)}", indent=4)
        page.verbatim(gap.detail, indent=6)
        if command := gap.again(view.plan):
            page.command(command, indent=4)
    _more(page, len(section.items))


def _more(page: TerminalReport, total: int) -> None:
    if total > SHOWN:
        page.line(f"and {total - SHOWN:,} more; results.v1.json holds them all", indent=2)


_SHOW: Final[Mapping[SectionKind, Callable[[TerminalReport, ReportView, Section], None]]] = (
    MappingProxyType(
        {
            SectionKind.EVALS: _table,
            SectionKind.SEALED: _sealed,
            SectionKind.SCORERS: _experiment,
            SectionKind.FIXTURES: _fixtures,
            SectionKind.SILENT: _silent,
            SectionKind.GAPS: _gaps,
        }
    )
)
"""Sections that are no list of sentences."""


def _notes(page: TerminalReport, view: ReportView) -> None:
    """Add, on a line each, what in a comment is folded, what warns first."""
    lines = {one.kind: _NOTES[one.kind](one) for one in view.sections if one.kind in _NOTES}
    _section(page, [line for kind in _NOTES for line in lines.get(kind, ())])


def _changed(section: Section) -> list[str]:
    return [
        f"{one.agent} is {one.kind}: {listing([str(reason) for reason in one.reasons], 4)}"
        for one in section.items
    ]


def _passing(section: Section) -> list[str]:
    noun = words_of(one.planned.kind for one in section.items).case
    return [f"passing: {count(len(section.items), noun)}"]


_NOTES: Final[Mapping[SectionKind, Callable[[Section], Sequence[str]]]] = MappingProxyType(
    {
        SectionKind.PROVIDERS: lambda one: [
            f"asked for the first time: {each}" for each in one.items
        ],
        SectionKind.WARNINGS: lambda one: [f"warning: {each}" for each in one.items],
        SectionKind.CERTAINTY: lambda one: one.items,
        SectionKind.REMOVED: lambda one: [f"no longer evaluated: {each}" for each in one.items],
        SectionKind.IMPROVED: lambda one: [
            f"improved: {listing([each.fixture.name for each in one.items], 8)}"
        ],
        SectionKind.PASSING: _passing,
        SectionKind.CHANGES: _changed,
        SectionKind.OFFERS: lambda one: [f"for the model: {each}" for each in one.items],
    }
)


_LATER = {*_NOTES, SectionKind.PROMPTS, SectionKind.USAGE, SectionKind.WHY}
"""Sections that are left to the notes, or out: a page has no folds."""


def _run(page: TerminalReport, view: ReportView) -> None:
    results = view.report.results
    usage = next((one for one in view.sections if one.kind is SectionKind.USAGE), None)
    lines = [
        f"{used.agent}: {counted}"
        for used in (usage.items if usage else ())
        if (counted := _counted(used))
    ]
    lines += view.rises[:_RISES] if lines else ()
    if results.trials:
        took = f" in {results.info.seconds:.1f} s" if results.info.seconds else ""
        lines.append(f"{count(len(results.trials), 'trial')}{took}")
    lines += filter(None, (results.info.resumed, results.info.recorded))
    if results.info.isolation:
        lines.append(f"isolation: {results.info.isolation}")
    lines.append("To do the same again:")
    _section(page, lines)
    page.command(view.command)


def _counted(used: AgentUsage) -> str:
    """Return what was counted; empty if nobody counted anything, as for a program's own calls."""
    if not any(spent.tokens.known for _, spent in used.sides):
        return ""
    return "; ".join(f"{side} {_spent(spent)}" for side, spent in used.sides)


def _spent(spent: Spent) -> str:
    time = "" if spent.seconds is None else f", {spent.time} an answer"
    return f"{spent.tokens}, {spent.money}{time}"


def _section(page: TerminalReport, lines: Sequence[str]) -> None:
    for position, line in enumerate(lines):
        if position:
            page.line(line)
        else:
            page.heading(line, style="")
