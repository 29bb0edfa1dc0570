"""The comment's smaller pieces: each function renders one value through one template."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.decision.decision import Decision
from gateval.domain.plan.plan import AgentChange
from gateval.domain.results.comparison import EvalComparison
from gateval.domain.text.figures import show_threshold
from gateval.render.comment.fixture_section import judged
from gateval.render.report.counts import count, listing
from gateval.render.report.environment import fill
from gateval.render.report.facts import SilentAgent
from gateval.render.report.gaps import Gap
from gateval.render.report.usage import AgentUsage
from gateval.render.report.wording import (
    GAP_TITLES,
    ICONS,
    UNVERIFIED_ICON,
    base_score,
    delta,
    eval_verdict,
    fixtures_passed,
    next_step,
    score,
)

REASONS_SHOWN = 12
DETAIL_WIDTH = 300


def row(compared: EvalComparison, decision: Decision, *, name: str, claimed: bool = False) -> str:
    """Render one line of the table of Evals, called `name`; a claim never looks like a verdict."""
    verdict, words = eval_verdict(decision, compared.eval)
    return fill(
        "row.md.j2",
        agent=compared.agent,
        eval=name,
        score=score(compared.head),
        base=base_score(compared),
        delta=delta(compared),
        threshold=show_threshold(compared.head.threshold),
        fixtures=fixtures_passed(compared.head),
        icon=UNVERIFIED_ICON if claimed else ICONS[verdict],
        words=f"claims {words}" if claimed else words,
    )


def silent(found: SilentAgent) -> str:
    """Render an Agent that does not answer on head."""
    worst = found.facts[0].worst
    return fill(
        "silent.md.j2",
        agent=found.agent,
        fixtures=listing([fact.fixture.name for fact in found.facts], 8),
        reason=worst.reason if worst else "",
        detail=_detail(worst.detail if worst else ()),
    )


def gap(found: Gap) -> str:
    """Render trials that were not measured, with what to do."""
    return fill(
        "gap.md.j2",
        agent=found.agent,
        side=found.side,
        trials=count(found.trials, "trial"),
        title=GAP_TITLES[found.cause],
        reason=found.reason,
        next=next_step(found.cause, found.side),
        verdict=judged(found.verdict, found.reason),
        where=listing(found.where, 6),
        detail=_detail(found.detail),
    )


def _detail(lines: Sequence[str]) -> str:
    return "\n".join(line[:DETAIL_WIDTH] for line in lines)


def change(found: AgentChange) -> str:
    """Render what changed in one Agent."""
    return fill(
        "change.md.j2",
        agent=found.agent,
        kind=found.kind,
        reasons=found.reasons[:REASONS_SHOWN],
        more=max(0, len(found.reasons) - REASONS_SHOWN),
    )


def bullet(text: str) -> str:
    """Render one sentence as a list item."""
    return fill("bullet.md.j2", text=text)


def usage(found: AgentUsage) -> str:
    """Render one line of the table of tokens."""
    return fill(
        "usage.md.j2",
        agent=found.agent,
        head=found.head,
        base=found.base,
        judge=found.judge,
    )
