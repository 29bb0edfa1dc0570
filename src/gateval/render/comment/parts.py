"""The parts of the comment between its first line and its last, and how much room each may take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gateval.domain.decision.report import Report
from gateval.domain.results.comparison import FixtureChange
from gateval.domain.verdicts import PRECEDENCE
from gateval.render.comment import sections
from gateval.render.comment.fitting import Part
from gateval.render.comment.fixture_section import (
    cause,
    cause_line,
    cause_summary,
    fixture_line,
)
from gateval.render.report.bar import lowered_bar, met_bar, shown_evals
from gateval.render.report.causes import FEW, FailureGroup, causes
from gateval.render.report.certainty import certainty
from gateval.render.report.evidence import doubts_on_evidence, trace_sources
from gateval.render.report.facts import (
    FixtureFacts,
    FixtureStatus,
    gather,
    silent_agents,
    with_status,
    worst_first,
)
from gateval.render.report.frame import PLAIN, Frame
from gateval.render.report.gaps import find_gaps
from gateval.render.report.prompts import prompt_edits
from gateval.render.report.rises import overview, rise_lines, told_of_spending
from gateval.render.report.scores.axes import by_axis, moved, score_lines
from gateval.render.report.scores.benchmarks import benchmark_lines
from gateval.render.report.scores.experiments import experiment_sets
from gateval.render.report.usage import models_used, usage_by_agent
from gateval.render.report.words.counts import count, listing
from gateval.render.report.words.kinds import Words, words_of
from gateval.render.report.words.plan_wording import removed_sentence
from gateval.render.report.words.wording import eval_verdict, passes, regressed_title
from gateval.safe.sanitize import inline

_PASSING_SHOWN = 100
_TRACED = 20
"""Agents of which the comment tells where their traces come from."""

_RISES = 20
"""Sentences on money and time."""

_ROWS = 20
"""Evals in the first table: what is said about the worst fixtures should not be far below."""


def _header(words: Words) -> str:
    return (
        f"| Agent | {words.manifest} | Score | Base | Δ | Threshold | {words.cases} | Verdict |\n"
        "|---|---|--:|--:|--:|--:|--:|---|\n"
    )


def comment_parts(report: Report, frame: Frame = PLAIN) -> list[Part[Any]]:
    """Return the parts that have anything to show, in the order in which they are shown."""
    facts = gather(report)
    table, more = _tables(report, frame)
    parts = (
        _list("new provider", "Asked for the first time", report.results.plan.new_providers),
        table,
        *_experiments(report),
        _list("benchmark", "Benchmarks", benchmark_lines(report)),
        *([_axis_scores(report)] if moved(report) else []),
        *_worse(report, facts, frame.tree_url),
        _list("lowered bar", "The bar", lowered_bar(report, frame.may_bypass))._replace(weight=5),
        _list("doubt", "Evidence", doubts_on_evidence(report)),
        _list("warning on spending", "Money and time", told_of_spending(report)),
        *_missing(report, facts),
        more,
        *_folded(report, facts, frame.tree_url),
        *([] if moved(report) else [_axis_scores(report)]),
        _axes(facts),
        _spent(report),
        _why(report),
    )
    return [part for part in parts if part.items]


def _tables(report: Report, frame: Frame) -> tuple[Part[Any], Part[Any]]:
    """The Evals, worst first; those beyond the first `_ROWS` in a fold of their own."""
    plan, decision = report.results.plan, report.decision
    evals = sorted(
        shown_evals(report),
        key=lambda compared: PRECEDENCE.index(eval_verdict(decision, compared.eval)[0]),
    )
    words = words_of(plan.eval(one.eval).kind for one in evals)
    first = Part(
        words.manifest,
        _header(words),
        evals[:_ROWS],
        lambda compared: sections.row(
            compared,
            decision,
            name=plan.eval(compared.eval).shown_name,
            claimed=bool(frame.unverified),
        ),
        joint="\n",
        weight=4,
    )
    rest = evals[_ROWS:]
    more = count(len(rest), f"more {words.manifest}")
    opening = f"<details><summary>{more}</summary>\n\n{_header(words)}"
    return first, first._replace(opening=opening, items=rest, closing="\n\n</details>")


def _experiments(report: Report) -> list[Part[Any]]:
    """The scorers of each experiment, with the difference to base or to the set before."""
    return [
        Part(
            "scorer",
            f"### Experiment {inline(found.name, 100)}\n\n"
            "| Scorer | Average | Δ | Rows | Rule |\n|---|--:|--:|--:|---|\n",
            found.lines,
            sections.scorer,
            closing=f"\n\nΔ: {inline(found.against, 200)}.",
            joint="\n",
            weight=4,
        )
        for found in experiment_sets(report)
    ]


def _worse(report: Report, facts: Sequence[FixtureFacts], tree: str) -> list[Part[Any]]:
    plan = report.results.plan
    shown = partial(cause, plan=plan, tree_url=tree)
    title = regressed_title(plan.policy)
    return [
        _fixtures(
            "regressed fixture", title, with_status(facts, FixtureStatus.REGRESSED), 10, shown
        ),
        Part(
            "prompt's diff",
            "### What changed in the prompt\n\n",
            prompt_edits(plan, facts),
            partial(sections.prompt, tree_url=tree),
            partial(sections.prompt_line, tree_url=tree),
            weight=6,
        ),
        Part(
            "silent agent",
            "### Does not answer any more\n\n",
            silent_agents(facts),
            sections.silent,
            weight=5,
        ),
        _fixtures(
            "suspect",
            "Looks worse, not certain",
            with_status(facts, FixtureStatus.SUSPECT),
            4,
            shown,
        ),
        _fixtures(
            "failing fixture", "Failing", with_status(facts, FixtureStatus.FAILING), 8, shown
        ),
    ]


def _missing(report: Report, facts: Sequence[FixtureFacts]) -> list[Part[Any]]:
    plan = report.results.plan
    removed = [removed_sentence(entry) for entry in plan.removed]
    return [
        Part(
            "gap",
            "### Not measured\n\n",
            find_gaps(facts),
            partial(sections.gap, plan=plan),
            joint="\n",
            weight=4,
        ),
        _list("removed entry", "No longer evaluated", removed),
        _list("warning", "Warnings", [*plan.warnings, *report.results.info.warnings]),
    ]


def _folded(report: Report, facts: Sequence[FixtureFacts], tree: str) -> list[Part[Any]]:
    plan = report.results.plan
    shown = partial(sections.change, tree_url=tree)
    improved = worst_first(f for f in facts if f.compared.change is FixtureChange.IMPROVED)
    passing = [
        f"{fact.planned.shown_name}/{fact.fixture.name}: {passes(fact.compared)}"
        for fact in with_status(facts, FixtureStatus.PASSING)
    ]
    return [
        _fold(
            "lowered bar", "The bar moves, and head meets it", met_bar(report), sections.bullet, 2
        ),
        _fold("changed agent", "What changed in each agent", plan.changes, shown, 3),
        _fold("note on certainty", "How sure this is", certainty(report), sections.bullet, 1),
        _fold("improved fixture", "Improved", improved, fixture_line, 2),
        _fold("passing fixture", "Passing", passing, sections.bullet, 2)._replace(
            most=_PASSING_SHOWN
        ),
    ]


def _why(report: Report) -> Part[Any]:
    shown = {compared.eval for compared in shown_evals(report)}
    why = [
        f"{one.shown_name}: {listing([str(reason) for reason in one.why], 4)}"
        for one in report.results.plan.evals
        if one.name in shown
    ]
    words = words_of(one.kind for one in report.results.plan.evals if one.name in shown)
    return _fold("reason", f"Why each {words.manifest} runs", why, sections.bullet, 1)


def _axis_scores(report: Report) -> Part[Any]:
    """The scores by axis; open where one moved."""
    said, table = moved(report), "| Eval | Axis | Score | Base | |\n|---|---|--:|--:|---|\n"
    closed = f"<details><summary>Scores by axis</summary>\n\n{table}"
    opened = "\n".join(map(sections.bullet, said))
    return Part(
        "axis",
        f"### By axis\n\n{opened}\n\n{table}" if said else closed,
        score_lines(report),
        sections.axis_score,
        closing="" if said else "\n\n</details>",
        joint="\n",
        weight=3,
    )


def _axes(facts: Sequence[FixtureFacts]) -> Part[Any]:
    return Part(
        "axis",
        "<details><summary>By axis</summary>\n\n"
        "| Axis | Assertions passed on head | On base |\n|---|--:|--:|\n",
        by_axis(facts),
        sections.axis,
        closing="\n\n</details>",
        joint="\n",
    )


def _spent(report: Report) -> Part[Any]:
    said = (
        f"Models: {', '.join(models_used(report)) or 'unknown'}",
        *rise_lines(report)[:_RISES],
        *trace_sources(report)[:_TRACED],
    )
    lines = "\n".join(map(sections.bullet, said))
    return Part(
        "agent's cost",
        f"<details><summary>Cost and time: {inline(overview(report), 200)}</summary>\n\n{lines}\n\n"
        "| Agent | Side | Tokens | Cost | Time of an answer |\n|---|---|---|---|--:|\n",
        usage_by_agent(report),
        sections.usage,
        closing="\n\n</details>",
        joint="\n",
    )


def _fixtures(
    noun: str,
    title: str,
    facts: Sequence[FixtureFacts],
    weight: float,
    shown: Callable[[FailureGroup], str],
) -> Part[FailureGroup]:
    found = causes(facts)
    return Part(
        noun,
        f"### {title}\n\n{_overview(found, len({one.fixture.name for one in facts}))}",
        found,
        shown,
        cause_line,
        most=FEW,
        weight=weight,
        holds=lambda one: len(one.facts),
    )


def _overview(found: Sequence[FailureGroup], fixtures: int) -> str:
    """List the causes first, where there are several and fewer than fixtures."""
    if not 1 < len(found) < fixtures:
        return ""
    largest = sorted(found, key=lambda one: -len(one.facts))
    lines = [f"{count(fixtures, 'fixture')}, {count(len(found), 'cause')}:\n"]
    lines += map(cause_summary, largest[:FEW])
    if len(found) > FEW:
        rest = sum(len(one.facts) for one in largest[FEW:])
        lines.append(f"- and {len(found) - FEW:,} more, of {count(rest, 'fixture')}")
    return "\n".join(lines) + "\n\n"


def _list(noun: str, title: str, items: Sequence[str]) -> Part[str]:
    return Part(noun, f"### {title}\n\n", items, sections.bullet, joint="\n", weight=2)


def _fold(
    noun: str, title: str, items: Sequence[Any], render: Callable[[Any], str], weight: float
) -> Part[Any]:
    return Part(
        noun,
        f"<details><summary>{title} ({len(items):,})</summary>\n\n",
        items,
        render,
        closing="\n\n</details>",
        joint="\n",
        weight=weight,
    )
