"""The parts of the comment between its first line and its last, and how much room each may take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gateval.domain.decision.report import Report
from gateval.domain.results.comparison import FixtureChange
from gateval.domain.verdicts import PRECEDENCE
from gateval.render.comment import sections
from gateval.render.comment.fitting import Part
from gateval.render.comment.fixture_section import fixture, fixture_line
from gateval.render.report.bar import lowered_bar, met_bar, shown_evals
from gateval.render.report.counts import listing
from gateval.render.report.facts import (
    FixtureFacts,
    Standing,
    gather,
    silent_agents,
    standing,
    worst_first,
)
from gateval.render.report.frame import PLAIN, Frame
from gateval.render.report.gaps import find_gaps
from gateval.render.report.plan_wording import removed_sentence
from gateval.render.report.usage import models_used, usage_by_agent
from gateval.render.report.wording import eval_verdict, passes, regressed_title

_FIXTURES_IN_FULL = 12
_PASSING_SHOWN = 100


def comment_parts(report: Report, frame: Frame = PLAIN) -> list[Part[Any]]:
    """Return the parts that have anything to show, in the order in which they are shown."""
    facts = gather(report)
    parts = (
        _table(report, frame),
        *_worse(report, facts),
        _list("lowered bar", "The bar", lowered_bar(report))._replace(weight=5),
        *_missing(report, facts),
        *_folded(report, facts),
        _tokens(report),
    )
    return [part for part in parts if part.items]


def _table(report: Report, frame: Frame) -> Part[Any]:
    plan, decision = report.results.plan, report.decision
    evals = sorted(
        shown_evals(report),
        key=lambda compared: PRECEDENCE.index(eval_verdict(decision, compared.eval)[0]),
    )
    return Part(
        "Eval",
        "| Agent | Eval | Score | Base | Δ | Threshold | Fixtures | Verdict |\n"
        "|---|---|--:|--:|--:|--:|--:|---|\n",
        evals,
        lambda compared: sections.row(
            compared,
            decision,
            name=plan.eval(compared.eval).shown_name,
            claimed=bool(frame.unverified),
        ),
        joint="\n",
        weight=4,
    )


def _worse(report: Report, facts: Sequence[FixtureFacts]) -> list[Part[Any]]:
    regressed = regressed_title(report.results.plan.policy)
    return [
        _fixtures("regressed fixture", regressed, standing(facts, Standing.REGRESSED), 10),
        Part(
            "silent agent",
            "### Does not answer any more\n\n",
            silent_agents(facts),
            sections.silent,
            weight=5,
        ),
        _fixtures("suspect", "Looks worse, not certain", standing(facts, Standing.SUSPECT), 4),
        _fixtures("failing fixture", "Failing", standing(facts, Standing.FAILING), 8),
    ]


def _missing(report: Report, facts: Sequence[FixtureFacts]) -> list[Part[Any]]:
    plan = report.results.plan
    removed = [removed_sentence(entry) for entry in plan.removed]
    return [
        Part("gap", "### Not measured\n\n", find_gaps(facts), sections.gap, joint="\n", weight=4),
        _list("removed entry", "No longer evaluated", removed),
        _list("warning", "Warnings", plan.warnings),
    ]


def _folded(report: Report, facts: Sequence[FixtureFacts]) -> list[Part[Any]]:
    plan = report.results.plan
    improved = worst_first(f for f in facts if f.compared.change is FixtureChange.IMPROVED)
    passing = [
        f"{fact.planned.shown_name}/{fact.fixture.name}: {passes(fact.compared)}"
        for fact in standing(facts, Standing.PASSING)
    ]
    shown = {compared.eval for compared in shown_evals(report)}
    why = [
        f"{e.shown_name}: {listing([str(reason) for reason in e.why], 4)}"
        for e in plan.evals
        if e.name in shown
    ]
    return [
        _fold(
            "lowered bar", "The bar moves, and head meets it", met_bar(report), sections.bullet, 2
        ),
        _fold("changed agent", "What changed in each agent", plan.changes, sections.change, 3),
        _fold("reason", "Why each Eval runs", why, sections.bullet, 1),
        _fold("improved fixture", "Improved", improved, fixture_line, 2),
        _fold("passing fixture", "Passing", passing, sections.bullet, 2)._replace(
            most=_PASSING_SHOWN
        ),
    ]


def _tokens(report: Report) -> Part[Any]:
    models = sections.bullet(f"Models: {', '.join(models_used(report)) or 'unknown'}")
    return Part(
        "agent's token count",
        "<details><summary>Tokens and models</summary>\n\n"
        f"{models}\n\n| Agent | Head | Base | Judge |\n|---|---|---|---|\n",
        usage_by_agent(report),
        sections.usage,
        closing="\n\n</details>",
        joint="\n",
    )


def _fixtures(
    noun: str, title: str, facts: Sequence[FixtureFacts], weight: float
) -> Part[FixtureFacts]:
    return Part(
        noun,
        f"### {title}\n\n",
        facts,
        fixture,
        fixture_line,
        most=_FIXTURES_IN_FULL,
        weight=weight,
    )


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
