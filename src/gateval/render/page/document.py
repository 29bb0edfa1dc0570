"""The page as one file, and what it says before any program of it runs: verdict, Evals, reasons,
what was not measured, what changed, and all that can wait. Its data, program and style stand in it.

A policy in it (CSP) lets nothing run but this one program, and nothing be loaded from anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from gateval.domain.plan.plan import AgentChange
from gateval.domain.text import listing
from gateval.domain.trials.trace import StepKind
from gateval.domain.trials.trial import Assessment, Cause, Trial
from gateval.domain.verdicts import GateVerdict
from gateval.render.page.data import LIMIT, STATES, page_data
from gateval.render.page.spending import dot_plots
from gateval.render.page.template import environment, markup, own_file, policy
from gateval.render.report.evidence import (
    WORSE,
    Difference,
    beside_prompt,
    nearest_base,
    page_address,
    prompt_edit,
    short_edits,
    shown_edits,
)
from gateval.render.report.facts import FileDiff, FixtureFacts
from gateval.render.report.findings import UnmeasuredTrials
from gateval.render.report.scores import difference
from gateval.render.report.usage import models_used, only_judges_scripted
from gateval.render.report.wording import GLOSSARY, MINUS, passes, words_of
from gateval.render.view import EvalRow, ReportView, Section, SectionKind

MOST = 5
"""Reasons that a reader takes in."""

_QUOTE = 300

_FEW = 6
"""Changed lines that fit beside a reason."""


class ShownReason(NamedTuple):
    """Why the gate says what it says: a fixture, what it lacks, the words that show it, and where
    head went another way. `address` leads to the step, `there` to the difference; `changed` are
    lines of files by name, `also` says what else the revision changes in the Agent.
    """

    fixture: str
    about: str
    state: str
    passes: str
    what: str
    said: str
    place: str
    quote: str
    quoted: str
    address: str
    difference: str
    there: str
    changed: list[tuple[str, list[str]]]
    also: str
    same: str


def page_policy() -> str:
    """Return the policy of the page: nothing but this version's one program runs in it."""
    return policy(["page.css"], ["page.js"])


def reasons(view: ReportView) -> tuple[list[ShownReason], int]:
    """Return the first reasons that are about fixtures, worst first, and how many more."""
    found = [
        (item.facts[0], item.facts[1:])
        for section in view.sections
        if section.kind in {SectionKind.FIXTURES, SectionKind.SILENT}
        for item in section.items
    ]
    agents = [first.planned.agent for first, _ in found[:MOST]]
    told = [
        _reason(view, first, others, first=first.planned.agent not in agents[:at])
        for at, (first, others) in enumerate(found[:MOST])
    ]
    return told, max(0, len(found) - MOST)


def _reason(
    view: ReportView, fact: FixtureFacts, others: Sequence[FixtureFacts], *, first: bool
) -> ShownReason:
    worst = fact.worst
    found = view.difference(fact)
    check = fact.broken[0] if fact.broken else None
    quoted, words, number = _quote(fact, worst, found)
    if not number and found is not None:
        number = found.head_step.number if found.head_step else 0
    return ShownReason(
        fact.fixture.name,
        f"{fact.planned.shown_name}, {fact.fixture.severity}",
        fact.status.value,
        passes(fact.compared),
        f"{fact.label(check)} {fact.ended(check)}" if check else str(fact.status),
        check.reason if check else fact.why,
        fact.place(check) if check else "",
        words,
        quoted,
        page_address(fact, worst, number),
        str(found) if found else "",
        _there(fact, found),
        *_changed(view, fact, first=first),
        f"{len(others):,} more: {listing([one.fixture.name for one in others], 5)}"
        if others
        else "",
    )


def _there(fact: FixtureFacts, found: Difference | None) -> str:
    """Return the address of the first difference."""
    if found is None:
        return ""
    if found.head_step is not None:
        return page_address(fact, fact.worst, found.head_step.number)
    number = found.base_step.number if found.base_step else 0
    return page_address(fact, nearest_base(fact, fact.worst), number)


def _changed(
    view: ReportView, fact: FixtureFacts, *, first: bool
) -> tuple[list[tuple[str, list[str]]], str]:
    """Return the changed lines of the prompt, if these are few, those of short edits of files, and
    what else changed in the Agent; nothing where head does no worse. Of an Agent, files are shown
    beside the first reason alone.
    """
    if fact.status not in WORSE:
        return [], ""
    agent = fact.planned.agent
    edit = prompt_edit(view.plan, agent)
    of_prompt = _moved(edit.lines) if edit else []
    few = edit if len(of_prompt) <= _FEW else None
    shown = [(few.where, of_prompt)] if few else []
    also: list[str] = []
    for one in view.plan.changes:
        if one.agent != agent:
            continue
        rest: AgentChange | None = beside_prompt(one, few)
        if first and rest:
            files, rest = short_edits(view.plan, rest)
            shown += [(file.name, _moved(file.lines)) for file in files]
        also += map(str, rest.reasons if rest else ())
    return shown, listing(also, _PLACES) if also else ""


def _moved(lines: Sequence[str]) -> list[str]:
    return [one for one in lines if one[:1] in {"+", "-"}]


_PLACES = 4
"""Changed places that are named beside a reason."""


def _quote(
    fact: FixtureFacts, worst: Trial | None, found: Difference | None
) -> tuple[str, str, int]:
    """Return where the words stand that say most, these words, and the number of their step."""
    for one in fact.told:
        for violation in one.verdict.violations if one.verdict else ():
            if violation.supported:
                number = violation.evidence_step
                return f"Quoted by the judge from step {number}", violation.quote[:_QUOTE], number
    for one in fact.told:
        step = _step(worst, one, found)
        if step:
            return step
    if worst is not None and worst.output:
        return "Its answer", worst.output[:_QUOTE], 0
    return ("It printed", worst.detail[-1][:_QUOTE], 0) if worst and worst.detail else ("", "", 0)


def _step(
    worst: Trial | None, one: Assessment, found: Difference | None
) -> tuple[str, str, int] | None:
    """Return the first step that an assertion blames, of those where head has gone another way."""
    if not (worst and worst.trace and one.steps):
        return None
    apart = (found.head_step or found.base_step) if found else None
    since = apart.number if apart else 0
    step = worst.trace.step(next((at for at in one.steps if at >= since), one.steps[0]))
    if step is None:
        return None
    call = f"calls {step.tool}" if step.kind is StepKind.TOOL_CALL else step.text
    return f"Step {step.number}", call[:_QUOTE], step.number


class Besides(NamedTuple):
    """A reason that is about no fixture."""

    title: str
    message: str


def besides(view: ReportView) -> list[Besides]:
    """Return the reasons against a pass that are about no fixture."""
    found = [one for one in view.findings if not one.fixture] + list(view.other_findings)
    return [Besides(one.title, one.message) for one in found]


def states(view: ReportView) -> list[tuple[str, int]]:
    """Return how many fixtures there are of each state, most urgent first."""
    counted = Counter(one.status for one in view.fixtures)
    return [(one.value, counted[one]) for one in STATES if counted[one]]


class Gap(NamedTuple):
    """Trials that say nothing."""

    title: str
    reason: str
    next: str
    where: str
    detail: str


def gap(found: UnmeasuredTrials) -> Gap:
    """Return what is told of trials that were not measured."""
    return Gap(
        found.title,
        found.reason,
        found.next,
        listing(found.where, 6),
        "\n".join(one[:_QUOTE] for one in found.detail),
    )


class Change(NamedTuple):
    """What changed in one Agent, and what became of its Evals."""

    agent: str
    kind: str
    reasons: list[tuple[str, str, str]]
    more: int
    diff: list[str]
    where: str
    files: list[FileDiff]
    evals: list[EvalRow]


_REASONS, _DIFF, _CHANGES = 20, 200, 50


def changes(view: ReportView) -> list[Change]:
    """Return the changed Agents, each with its own Evals' scores beside it."""
    return [_change(view, one) for one in view.plan.changes[:_CHANGES]]


def _change(view: ReportView, one: AgentChange) -> Change:
    edit = prompt_edit(view.plan, one.agent)
    files, others = shown_edits(view.plan, beside_prompt(one, edit))
    reasons = [(str(each), each.before, each.after) for each in others.reasons] if others else []
    return Change(
        one.agent,
        one.kind.value,
        reasons[:_REASONS],
        max(0, len(reasons) - _REASONS),
        list(edit.lines[:_DIFF]) if edit else [],
        edit.where if edit else "",
        files,
        [row for row in rows_of(view) if row.agent == one.agent],
    )


def rows_of(view: ReportView) -> Sequence[EvalRow]:
    """Return the lines of the Evals, worst first."""
    return next((one.whole for one in view.sections if one.kind is SectionKind.EVALS), ())


class Extra(NamedTuple):
    """Another section: sentences, or rows below `columns`. What is `folded` can wait."""

    title: str
    lines: list[str]
    columns: tuple[str, ...] = ()
    rows: Sequence[Sequence[str]] = ()
    note: str = ""
    more: int = 0
    folded: bool = False


_ITEMS = 100

_ROWS: Final[Mapping[SectionKind, Callable[[Any], Sequence[Any]]]] = MappingProxyType(
    {
        SectionKind.SEALED: lambda one: one.cells,
        SectionKind.SCORERS: lambda one: (
            one.now.scorer,
            one.average,
            "none" if one.delta is None else difference(one.delta).replace("-", MINUS),
            one.rows,
            one.said,
        ),
        SectionKind.AXES: tuple,
        SectionKind.ASSERTIONS: lambda one: (one.axis, *one.sides),
    }
)
"""Sections that are tables, and the cells of a row."""

_ELSEWHERE = {
    SectionKind.EVALS,
    SectionKind.FIXTURES,
    SectionKind.SILENT,
    SectionKind.PROMPTS,
    SectionKind.GAPS,
    SectionKind.CHANGES,
    SectionKind.IMPROVED,
    SectionKind.PASSING,
}
"""What the page shows at a place of its own."""


def extras(view: ReportView) -> Iterator[Extra]:
    """Yield what else keeps the gate from passing, and the other sections as in every view."""
    others = besides(view)[MOST - len(reasons(view)[0]) :]
    if others:
        lines = [f"{one.title}. {one.message}".strip() for one in others]
        yield Extra("Other reasons", lines[:_ITEMS], more=max(0, len(lines) - _ITEMS))
    for section in view.sections:
        if section.kind not in _ELSEWHERE:
            yield _extra(section)._replace(folded=section.folded)


def _extra(section: Section) -> Extra:
    items = section.whole[:_ITEMS]
    cells = _ROWS.get(section.kind)
    more = max(0, len(section.whole) - _ITEMS)
    if section.kind is SectionKind.USAGE:
        rows = [
            [one.agent, name, str(spent.tokens), str(spent.money), spent.time]
            for one in items
            for name, spent in one.sides
        ]
    elif cells is not None:
        rows = [[*map(str, cells(one))] for one in items]
    else:
        lines = [*section.said, *map(str, items)]
        return Extra(section.title, lines, note=section.note, more=more)
    return Extra(section.title, list(section.said), section.columns, rows, section.note, more)


_RESERVE = 4_000
"""Bytes kept free."""


_SIGNS = {
    GateVerdict.PASS: "\N{CHECK MARK}",
    GateVerdict.FAIL: "\N{MULTIPLICATION X}",
    GateVerdict.BYPASSED: "!",
}
"""The signs of verdicts, `?` for the others: characters of every font."""


def render_page(view: ReportView) -> str:
    """Return the page as HTML of at most `LIMIT` bytes in ASCII and UTF-8."""
    return "".join(page_pieces(view))


def page_pieces(view: ReportView) -> Iterator[str]:
    """Yield the page piece by piece, as one text would take twice its bytes."""
    template = environment().get_template("page.html.j2")
    values = _values(view)
    bare = template.render(**values, lines="", blocks={})
    data = page_data(view, LIMIT - _RESERVE - len(bare.encode()))
    blocks = {name: markup(data.blocks.pop(name)) for name in list(data.blocks)}
    yield from template.generate(**values, lines=markup(data.lines), blocks=blocks)


def _values(view: ReportView) -> dict[str, object]:
    claims = bool(view.frame.unverified)
    words = words_of(one.kind for one in view.plan.evals)
    first, more = reasons(view)
    gaps = [one for section in view.sections if section.kind is SectionKind.GAPS
            for one in section.items]  # fmt: skip
    return {
        "view": view,
        "judged_by_script": only_judges_scripted(view.report),
        "glossary": GLOSSARY,
        "verdict": "unverified" if claims else view.verdict.value,
        "signs": {} if claims else _SIGNS,
        "said": f"Unverified, claims {view.verdict}" if claims else view.verdict.capitalize(),
        "rows": rows_of(view),
        "manifest": words.manifest,
        "cases": words.cases,
        "counts": states(view),
        "reasons": first,
        "more_reasons": more,
        "besides": besides(view)[: MOST - len(first)],
        "gaps": list(map(gap, gaps)),
        "nobodys_fault": not any(one.cause is Cause.CANDIDATE for one in gaps),
        "changes": changes(view),
        "plots": list(map(markup, dot_plots(view))),
        "extras": list(extras(view)),
        "provenance": _provenance(view),
        "run": view.report.results.info.run,
        "policy": page_policy(),
        "style": markup(own_file("page.css")),
        "script": markup(own_file("page.js")),
    }


def _provenance(view: ReportView) -> list[tuple[str, str]]:
    plan, info = view.plan, view.report.results.info
    said = [
        ("Run", f"{info.run}, {info.started_at[:16].replace('T', ' ')} UTC" if info.run else ""),
        ("Resumed", info.resumed),
        ("Recorded", info.recorded),
        ("Head", plan.head.commit or "the working tree, uncommitted changes included"),
        ("Base", (plan.base.commit or plan.base.name) if plan.base else ""),
        ("Policy", f"{plan.policy_source} {plan.policy_digest[:12]}".strip()),
        ("Models", ", ".join(models_used(view.report))),
        ("Isolation", info.isolation),
        ("Gateval", info.gateval),
    ]
    return [(name, value) for name, value in said if value]
