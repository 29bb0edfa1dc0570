"""The comment's pieces: each function renders one value through one template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gateval.domain.comparison import EvalComparison
from gateval.domain.decision import Decision, show_passes
from gateval.domain.plan import AgentChange
from gateval.domain.trial import Assessment, AssessmentStatus, Outcome
from gateval.domain.verdict import Violation
from gateval.render.environment import fill
from gateval.render.excerpt import blamed_steps, trial_excerpt
from gateval.render.facts import FixtureFacts
from gateval.render.gaps import Gap
from gateval.render.usage import AgentUsage
from gateval.render.wording import (
    GAP_TITLES,
    ICONS,
    base_score,
    count,
    delta,
    eval_verdict,
    fixtures_passed,
    listing,
    next_step,
    score,
)

REASONS_SHOWN = 12
DETAIL_WIDTH = 300


class SilentAgent(NamedTuple):
    """An Agent that does not answer on head, with its fixtures that base did answer."""

    agent: str
    facts: Sequence[FixtureFacts]


def row(compared: EvalComparison, decision: Decision) -> str:
    """Render one line of the table of Evals."""
    verdict, words = eval_verdict(decision, compared.eval)
    return fill(
        "row.md.j2",
        agent=compared.agent,
        eval=compared.eval,
        score=score(compared.head),
        base=base_score(compared),
        delta=delta(compared),
        threshold=f"{compared.head.threshold:.2f}",
        fixtures=fixtures_passed(compared.head),
        icon=ICONS[verdict],
        words=words,
    )


def fixture(fact: FixtureFacts) -> str:
    """Render everything about one fixture that is worse than it should be."""
    items = [_assessment(fact, assessment) for assessment in fact.broken]
    worst = fact.worst
    return fill(
        "fixture.md.j2",
        name=fact.fixture.name,
        eval=fact.planned.name,
        severity=fact.compared.head.severity,
        description=fact.fixture.description,
        passes=passes(fact),
        note=_note(fact),
        items=items,
        reason=worst.reason if worst else "",
        excerpts=_excerpts(fact),
    )


def fixture_line(fact: FixtureFacts) -> str:
    """Render one fixture as one line of a list."""
    broken = fact.broken
    worst = fact.worst
    return fill(
        "line.md.j2",
        name=fact.fixture.name,
        eval=fact.planned.name,
        severity=fact.compared.head.severity,
        passes=passes(fact),
        label=broken[0].type if broken else "Reason",
        reason=broken[0].reason if broken else (worst.reason if worst else ""),
    )


def passes(fact: FixtureFacts) -> str:
    """Return how many repetitions passed on base and on head."""
    head = f"head {show_passes(fact.compared.head)}"
    base = fact.compared.base
    return head if base is None else f"base {show_passes(base)}, {head}"


def _note(fact: FixtureFacts) -> str:
    """Return what one has to know to read the numbers."""
    said = []
    base = fact.compared.base
    if base is None:
        said.append("Not compared with base.")
    elif base.all_failed:
        said.append("It failed on base as well.")
    elif not base.measured:
        said.append("Base was not fully measured.")
    if fact.worst is not None and fact.compared.head.planned > 1:
        said.append(f"Shown is repetition {fact.worst.key.repetition}.")
    return " ".join(said)


def _assessment(fact: FixtureFacts, assessment: Assessment) -> dict[str, object]:
    failed = assessment.status is AssessmentStatus.FAILED
    steps = ", ".join(map(str, assessment.steps[:5]))
    noun = "step" if len(assessment.steps) == 1 else "steps"
    at = f"failed at {noun} {steps}" if steps else "failed"
    verdict = assessment.verdict
    return {
        "label": assessment.type,
        "at": at if failed else "could not be evaluated",
        "reason": assessment.reason,
        "place": fact.place(assessment),
        "verdict": verdict
        and {
            "score": f"{verdict.score:.2f}",
            "confidence": f"{verdict.confidence:.2f}",
            "summary": verdict.summary,
            "violations": [_violation(violation) for violation in verdict.violations],
            "raise": verdict.what_would_raise_score,
        },
    }


def _violation(violation: Violation) -> dict[str, object]:
    return {
        "severity": violation.severity,
        "rule": violation.rule,
        "quote": violation.quote,
        "mark": evidence_mark(violation),
    }


def evidence_mark(violation: Violation) -> str:
    """Return whether code found the quote where the judge says it stands."""
    if violation.supported:
        return f"\N{CHECK MARK} quote found in step {violation.evidence_step}"
    step = f"quote not found in step {violation.evidence_step}"
    return f"\N{BALLOT X} {violation.defect or step}: does not count"


def _excerpts(fact: FixtureFacts) -> list[dict[str, str]]:
    """Head's steps around what failed, and what base did where it passed."""
    passed = next((trial for trial in fact.base if trial.outcome is Outcome.PASS), None)
    sources = (
        ("What head did", trial_excerpt(fact.worst, fact.broken)),
        ("What base did, where it passed", trial_excerpt(passed)),
    )
    return [{"title": title, "text": text} for title, text in sources if text]


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
    above = " Shown above." if found.silent else ""
    return fill(
        "gap.md.j2",
        agent=found.agent,
        side=found.side,
        trials=count(found.trials, "trial"),
        title=GAP_TITLES[found.cause],
        reason="" if found.silent else found.reason,
        next=above.strip() if found.silent else next_step(found.cause, found.side),
        where=listing(found.where, 6),
        detail="" if found.silent else _detail(found.detail),
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
