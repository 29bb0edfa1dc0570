"""The Evals that a plan would run, and why, as text for a terminal.

When there is nothing to evaluate, which is what most changes meet, no layout library is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import Baseline, PlannedEval, Reason
from gateval.domain.planning.change import why_locked
from gateval.domain.text import PAPER, Screen, show_bytes
from gateval.render.report.evidence import prompt_edit
from gateval.render.report.facts import PromptEdit
from gateval.render.report.plan_wording import (
    judge_questions,
    models_needed,
    outlook_lines,
    removed_sentence,
    revisions,
)
from gateval.render.report.wording import count, words_of
from gateval.render.terminal.page import LINE_LIMIT, TerminalReport, edited
from gateval.safe.sanitize import plain_line

REASONS_SHOWN = 6

_EDIT = 4
"""Columns by which changed lines of a prompt are indented."""

_BASELINES = {
    Baseline.MERGE_BASE: "base and head",
    Baseline.NEW_AGENT: "head (new agent)",
    Baseline.SAME_AGENT: "head (agent unchanged)",
    Baseline.NONE: "head",
}


def render_plan(plan: Plan, screen: Screen = PAPER, likely: Sequence[str] = ()) -> str:
    """Return the plan as text, at most `width` columns wide; `likely` is what it may take."""
    if not plan.evals:
        said = "Nothing to evaluate"
        why = plan.nothing if plan.nothing.startswith(said) else f"{said}. {plan.nothing}"
        lines = (*_told(_opening(plan)), why, *_closing(plan))
        return "".join(f"{' ' * _indent(one)}{plain_line(one, LINE_LIMIT)}\n" for one in lines)
    page = TerminalReport(screen)
    for line in _opening(plan):
        if isinstance(line, str):
            page.line(line.lstrip(), indent=_indent(line))
        else:
            page.edit(line.lines, indent=_EDIT)
    _evals(page, plan, likely)
    for line in _closing(plan):
        page.line(line.lstrip(), indent=_indent(line))
    return page.text()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _told(opening: Iterable[str | PromptEdit]) -> Iterator[str]:
    for one in opening:
        yield from [one] if isinstance(one, str) else (" " * _EDIT + x for x in edited(one.lines))


def _opening(plan: Plan) -> Iterator[str | PromptEdit]:
    yield revisions(plan)
    if plan.policy_source:
        yield f"policy: {plan.policy_source}"
    for change in plan.changes:
        yield f"{change.agent} is {change.kind}:"
        edit = prompt_edit(plan, change.agent)
        for reason in change.reasons[:REASONS_SHOWN]:
            of_prompt = edit is not None and reason.what == "spec.system"
            yield f"  {reason}{'' if of_prompt else _moved(reason)}"
        yield from [edit] if edit else []
        if len(change.reasons) > REASONS_SHOWN:
            yield f"  and {len(change.reasons) - REASONS_SHOWN:,} more"


def _moved(reason: Reason) -> str:
    if reason.before and reason.after:
        return f": {reason.before} \N{RIGHTWARDS ARROW} {reason.after}"
    if reason.after:
        return f", added: {reason.after}"
    return f", removed: {reason.before}" if reason.before else ""


def _closing(plan: Plan) -> Iterator[str]:
    for entry in plan.removed:
        yield f"no longer evaluated: {removed_sentence(entry)}"
    for lost in plan.lost:
        yield f"lowers the bar: {lost}"
    if plan.rules_unread:
        yield plan.rules_unread
    if plan.findings_lost:
        yield plan.findings_lost
    if plan.locked and plan.evals:
        yield why_locked(plan.locked)
    yield from (f"asked for the first time: {provider}" for provider in plan.new_providers)
    for doubt in plan.doubts:
        yield f"cannot be read: {doubt}"
    for lacking in plan.lacking:
        yield f"not measured: {lacking}"
    for path in plan.unclaimed:
        yield f"belongs to no measured Agent: {path}"
    yield from (f"warning: {warning}" for warning in plan.warnings)


def _evals(page: TerminalReport, plan: Plan, likely: Sequence[str]) -> None:
    rows = []
    shown = [one for one in plan.evals if one.bar is None or one.bar.lowered or one.own_fixtures]
    for planned in shown:
        cells = (
            planned.shown_name,
            planned.agent,
            str(len(planned.fixtures)),
            str(planned.execution.reps_per_fixture),
            _BASELINES[planned.baseline],
            f"{_trials(planned):,}",
            f"{judge_questions(planned):,}",
        )
        rows.append((cells, ""))
    words = words_of(one.kind for one in shown)
    header = (words.manifest, "Agent", words.cases, "Times", "Sides", "Trials", "Judge calls")
    page.table(header, rows)
    page.heading("Why")
    for planned in shown:
        reasons = ", ".join(reason.told for reason in planned.why[:REASONS_SHOWN])
        page.line(f"{planned.shown_name}: {reasons}{_shared(planned)}", indent=2)
    trials = count(sum(map(_trials, plan.evals)), "trial")
    calls = count(sum(map(judge_questions, plan.evals)), "judge call")
    page.heading(f"{trials}, {calls}")
    for line in (*outlook_lines(plan), *likely):
        page.line(line)
    page.line(f"models: {', '.join(models_needed(plan)) or 'none declared'}")
    if plan.disk:
        page.line(f"disk for the files of candidates: {show_bytes(plan.disk)}")


def _shared(planned: PlannedEval) -> str:
    """Whose trials answer for fixtures that do not run a second time."""
    if planned.bar is None or not planned.bar.reused:
        return ""
    reused = count(len(planned.bar.reused), words_of([planned.kind]).case)
    return f"; {reused} measured by {planned.bar.eval}"


def _trials(planned: PlannedEval) -> int:
    return len(planned.own_fixtures) * planned.execution.reps_per_fixture * len(planned.sides)
