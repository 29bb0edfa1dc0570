"""One fixture in the comment, in full or on one line."""

from __future__ import annotations

from gateval.domain.trials.judge_verdict import Verdict, Violation
from gateval.domain.trials.trial import Assessment, Outcome
from gateval.render.report.environment import fill
from gateval.render.report.excerpt import trial_excerpt
from gateval.render.report.facts import FixtureFacts
from gateval.render.report.wording import evidence_icon, evidence_mark, passes, what_happened


def fixture(fact: FixtureFacts) -> str:
    """Render everything about one fixture that is worse than it should be."""
    items = [_assessment(fact, assessment) for assessment in fact.broken]
    worst = fact.worst
    return fill(
        "fixture.md.j2",
        name=fact.fixture.name,
        eval=fact.planned.shown_name,
        severity=fact.compared.head.severity,
        description=fact.fixture.description,
        passes=passes(fact.compared),
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
        eval=fact.planned.shown_name,
        severity=fact.compared.head.severity,
        passes=passes(fact.compared),
        label=broken[0].type if broken else "Reason",
        reason=broken[0].reason if broken else (worst.reason if worst else ""),
    )


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
    return {
        "label": assessment.type,
        "what": what_happened(assessment),
        "reason": assessment.reason,
        "place": fact.place(assessment),
        "verdict": judged(assessment.verdict, assessment.reason),
    }


def judged(verdict: Verdict | None, said: str) -> dict[str, object] | None:
    """Return what the templates show of a verdict; its summary only if `said` leaves it out."""
    if verdict is None:
        return None
    return {
        "confidence": f"{verdict.confidence:.2f}",
        "summary": "" if verdict.summary.rstrip(".") in said else verdict.summary,
        "violations": [_violation(violation) for violation in verdict.violations],
        "raise": verdict.what_would_raise_score,
    }


def _violation(violation: Violation) -> dict[str, object]:
    return {
        "icon": evidence_icon(violation),
        "mark": evidence_mark(violation),
        "severity": violation.severity,
        "rule": violation.rule,
        "quote": violation.quote,
    }


def _excerpts(fact: FixtureFacts) -> list[dict[str, str]]:
    """Head's steps around what failed, and what base did where it passed."""
    passed = next((trial for trial in fact.base if trial.outcome is Outcome.PASS), None)
    sources = (
        ("What head did", trial_excerpt(fact.worst, fact.broken)),
        ("What base did, where it passed", trial_excerpt(passed)),
    )
    return [{"title": title, "text": text} for title, text in sources if text]
