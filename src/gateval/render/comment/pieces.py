"""The comment's smaller pieces: each function renders one value through one template."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gateval.domain.plan.plan import AgentChange, ChangeKind, Plan
from gateval.render.comment.fixtures import judged
from gateval.render.report.environment import fill
from gateval.render.report.facts import SilentAgent
from gateval.render.report.gaps import Gap
from gateval.render.report.prompts import PromptEdit
from gateval.render.report.scores.axes import AxisLine, AxisShare
from gateval.render.report.scores.experiments import ScorerLine
from gateval.render.report.sealed import SealedLine
from gateval.render.report.usage import AgentUsage
from gateval.render.report.words.counts import count, listing
from gateval.render.report.words.wording import (
    GAP_TITLES,
    ICONS,
    UNVERIFIED_ICON,
    next_step,
)
from gateval.render.view import EvalRow
from gateval.safe.sanitize import Safe, code, source_link

REASONS_SHOWN = 12
DETAIL_WIDTH = 300


def row(found: EvalRow, *, claimed: bool = False) -> str:
    """Render one line of the table of Evals; a claim never looks like a verdict."""
    words = f"claims {found.words}" if claimed else found.words
    icon = UNVERIFIED_ICON if claimed else ICONS[found.verdict]
    return fill("row.md.j2", **{**found._asdict(), "words": words, "icon": icon})


def sealed_row(found: SealedLine, *, claimed: bool = False) -> str:
    """Render one line of the table of sealed Evals."""
    return fill(
        "sealed.md.j2",
        one=found,
        icon=UNVERIFIED_ICON if claimed else ICONS[found.verdict],
        words=f"claims {found.words}" if claimed else found.words,
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


def gap(found: Gap, plan: Plan) -> str:
    """Render trials that were not measured, with what to do."""
    return fill(
        "gap.md.j2",
        agent=found.agent,
        side=found.side,
        trials=count(found.trials, "run"),
        title=GAP_TITLES[found.cause],
        reason=found.reason,
        next=next_step(found.cause, found.side),
        verdict=judged(found.verdict, found.reason),
        cases=found.cases,
        where=listing(found.where, 6),
        again=found.again(plan),
        detail=_detail(found.detail),
    )


def _detail(lines: Sequence[str]) -> str:
    return "\n".join(line[:DETAIL_WIDTH] for line in lines)


def prompt(found: PromptEdit, tree_url: str = "") -> str:
    """Render the whole diff of a prompt."""
    where = _where(found, tree_url)
    return fill("prompt.md.j2", agent=found.agent, where=where, diff=found.diff)


def prompt_line(found: PromptEdit, tree_url: str = "") -> str:
    """Render that a prompt changed, and how much."""
    return fill(
        "prompt_line.md.j2",
        agent=found.agent,
        where=_where(found, tree_url),
        added=found.count("+"),
        removed=found.count("-"),
    )


def _where(found: PromptEdit, tree_url: str) -> str:
    return place_link(found.where, tree_url) if found.where else ""


def place_link(where: str, tree_url: str) -> Safe:
    """Return a place, `file` or `file:line`, as code that leads there, if it can be seen."""
    parts = re.fullmatch(r"(.+):([0-9]{1,7})", where, re.DOTALL)
    path, line = (parts[1], int(parts[2])) if parts else (where, 1)
    return source_link(code(where, 200), tree_url, path, line)


def change(found: AgentChange, tree_url: str = "") -> str:
    """Render what changed in one Agent; what was deleted leads nowhere."""
    gone = found.kind is ChangeKind.DELETED
    return fill(
        "change.md.j2",
        agent=found.agent,
        kind=found.kind,
        reasons=[
            (place_link(one.where, "" if gone or one.what == "removed" else tree_url), one)
            for one in found.reasons[:REASONS_SHOWN]
        ],
        more=max(0, len(found.reasons) - REASONS_SHOWN),
    )


def bullet(text: str) -> str:
    """Render one sentence as a list item."""
    return fill("bullet.md.j2", text=text)


def axis(found: AxisShare) -> str:
    """Render one line of the table of axes."""
    head, base = found.sides
    return fill("scores/axis.md.j2", axis=found.axis, head=head, base=base)


def scorer(found: ScorerLine) -> str:
    """Render one line of the table of an experiment's scorers."""
    return fill(
        "scores/scorer.md.j2",
        scorer=found.now.scorer,
        average=found.average,
        change=found.change,
        rows=found.rows,
        said=found.said,
    )


def axis_score(found: AxisLine) -> str:
    """Render one line of the table of scores by axis."""
    return fill("scores/axis_score.md.j2", **found._asdict())


def usage(found: AgentUsage) -> str:
    """Render an Agent's lines of the table of tokens, money and time."""
    sides = [
        {"name": name, "tokens": spent.tokens, "cost": spent.money, "time": spent.time}
        for name, spent in found.sides
    ]
    return fill("usage.md.j2", agent=found.agent, sides=sides)
