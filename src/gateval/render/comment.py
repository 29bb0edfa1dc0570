"""The pull-request comment: what a reviewer needs to know, most urgent first.

Equal trials give equal bytes: nothing in here depends on a clock, a run id or a duration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gateval.domain.decision import PRECEDENCE
from gateval.domain.report import Report
from gateval.render import sections
from gateval.render.environment import fill
from gateval.render.facts import FixtureFacts, Standing, gather, standing
from gateval.render.fitting import Part, fit, size
from gateval.render.gaps import find_gaps
from gateval.render.headline import headline
from gateval.render.reproduce import reproduce_command
from gateval.render.usage import models_used, scripted_models, usage_by_agent
from gateval.render.wording import ICONS, eval_verdict, listing, revision

LIMIT = 64_000
"""GitHub refuses comments of more than 65,536 characters."""

_NOTICE = 700
"""Room kept for the sentence that says what was left out."""

_FIXTURES_IN_FULL = 12


def render_comment(report: Report, *, limit: int = LIMIT) -> str:
    """Return the comment as GitHub-flavoured markdown of at most `limit` UTF-16 units.

    `limit` must be at least 8,000. What does not fit is cut between whole pieces and named.
    """
    head = _head(report)
    foot = _foot(report, "")
    room = limit - size(head) - size(foot) - _NOTICE
    fitted = fit(_parts(report), room)
    foot = _foot(report, listing(fitted.left_out, 12)) if fitted.left_out else foot
    return "\n\n".join((head, *fitted.texts, foot)) + "\n"


def _head(report: Report) -> str:
    plan, decision = report.results.plan, report.decision
    return fill(
        "head.md.j2",
        icon=ICONS[decision.verdict],
        verdict=decision.verdict,
        why=headline(report),
        head=revision(plan.head),
        base=revision(plan.base) if plan.base else "",
        policy_source=plan.policy_source,
        scripted=", ".join(scripted_models(report)),
    )


def _foot(report: Report, left_out: str) -> str:
    return fill(
        "foot.md.j2",
        command=reproduce_command(report.results.plan),
        worktree=report.results.plan.head.worktree,
        left_out=left_out,
    )


def _parts(report: Report) -> list[Part[Any]]:
    """Return what has anything to show, most important first."""
    facts = gather(report)
    parts = [_table(report), *_worse(report, facts), *_unmeasured(report, facts)]
    parts += _folded_parts(report, facts)
    return [part for part in parts if part.items]


def _table(report: Report) -> Part[Any]:
    decision = report.decision
    evals = sorted(
        report.comparison.evals,
        key=lambda e: PRECEDENCE.index(eval_verdict(decision, e.eval)[0]),
    )
    return Part(
        "Eval",
        "| Agent | Eval | Score | Base | Δ | Threshold | Fixtures | Verdict |\n"
        "|---|---|--:|--:|--:|--:|--:|---|\n",
        evals,
        lambda compared: sections.row(compared, decision),
        joint="\n",
        weight=4,
    )


def _worse(report: Report, facts: Sequence[FixtureFacts]) -> list[Part[Any]]:
    silent: dict[str, list[FixtureFacts]] = {}
    for fact in standing(facts, Standing.SILENT):
        silent.setdefault(fact.planned.agent, []).append(fact)
    agents = [sections.SilentAgent(agent, mine) for agent, mine in silent.items()]
    return [
        _fixtures("regressed fixture", "Regressed", standing(facts, Standing.REGRESSED), 10),
        Part(
            "silent agent",
            "### Does not answer any more\n\n",
            agents,
            sections.silent,
            most=10,
            weight=5,
        ),
        _fixtures("suspect", "Looks worse, not certain", standing(facts, Standing.SUSPECT), 4),
        _fixtures("failing fixture", "Failing", standing(facts, Standing.FAILING), 8),
    ]


def _fixtures(
    noun: str, title: str, facts: Sequence[FixtureFacts], weight: float
) -> Part[FixtureFacts]:
    return Part(
        noun,
        f"### {title}\n\n",
        facts,
        sections.fixture,
        sections.fixture_line,
        most=_FIXTURES_IN_FULL,
        weight=weight,
    )


def _unmeasured(report: Report, facts: Sequence[FixtureFacts]) -> list[Part[Any]]:
    plan = report.results.plan
    removed = [
        f"{entry.kind} {entry.name} ({entry.eval}), which stood at {entry.place}"
        if entry.kind == "fixture"
        else f"{entry.kind} {entry.name}, which stood at {entry.place}"
        for entry in plan.removed
    ]
    return [
        Part("gap", "### Not measured\n\n", find_gaps(facts), sections.gap, joint="\n", weight=4),
        _list("removed entry", "### No longer evaluated\n\n", removed, 2),
        _list("warning", "### Warnings\n\n", plan.warnings, 2),
    ]


def _folded_parts(report: Report, facts: Sequence[FixtureFacts]) -> list[Part[Any]]:
    plan = report.results.plan
    improved = [f for f in facts if f.compared.change == "improved"]
    why = [f"{e.name}: {listing([str(reason) for reason in e.why], 4)}" for e in plan.evals]
    parts: list[Part[Any]] = [
        _fold("changed agent", "What changed in each agent", plan.changes, sections.change, 3),
        _fold("reason", "Why each Eval runs", why, sections.bullet, 1),
        _fold("improved fixture", "Improved", improved, sections.fixture_line, 2),
        _fold(
            "passing fixture",
            "Passing",
            [
                f"{f.planned.name}/{f.fixture.name}: {sections.passes(f)}"
                for f in standing(facts, Standing.PASSING)
            ],
            sections.bullet,
            2,
        ),
    ]
    if plan.evals:
        parts.append(_tokens(report))
    return parts


def _tokens(report: Report) -> Part[Any]:
    models = fill("bullet.md.j2", text=f"Models: {', '.join(models_used(report)) or 'unknown'}")
    return Part(
        "agent's tokens",
        "<details><summary>Tokens and models</summary>\n\n"
        f"{models}\n\n| Agent | Head | Base | Judge |\n|---|---|---|---|\n",
        usage_by_agent(report),
        sections.usage,
        closing="\n\n</details>",
        joint="\n",
    )


def _list(noun: str, opening: str, items: Sequence[str], weight: float) -> Part[str]:
    return Part(noun, opening, items, sections.bullet, joint="\n", weight=weight)


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
