"""What a judge was asked, what it said, and whether its evidence stands, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.trials.judge_verdict import Verdict
from gateval.domain.trials.model_call import ModelReply, ModelRequest
from gateval.domain.trials.trial import Answer, Assessed, Assessment
from gateval.render.report.words.counts import count
from gateval.render.report.words.wording import evidence_icon, evidence_mark, what_happened
from gateval.render.terminal.page import Page


class JudgeExchange(NamedTuple):
    """A question to a model, and its answer."""

    request: ModelRequest
    reply: ModelReply


class TriedAssertion(NamedTuple):
    """An assertion, what came of it, and all that was said with the judge."""

    spec: AssertionSpec
    assessment: Assessment
    said: tuple[JudgeExchange, ...]


def render_judging(
    fixture: Fixture,
    answer: Answer,
    found: Sequence[TriedAssertion],
    said: str = "",
    *,
    width: int,
    color: bool,
) -> str:
    """Return the page: for each assertion prompt, answer, verdict, evidence, and what follows.

    `said` is a sentence on where the answer comes from.
    """
    page = Page(width, color=color)
    page.line(f"{fixture.name}: the judge looks at this answer", style="bold")
    page.cell([("", ""), (answer.output, "dim")])
    if said:
        page.line(said, style="yellow")
    for one in found:
        _judged(page, one)
    return page.text()


def _judged(page: Page, judged: TriedAssertion) -> None:
    name = judged.spec.name or judged.spec.type
    page.heading(f"{name} ({judged.spec.place})")
    seen = 0
    for number, (request, reply) in enumerate(judged.said, 1):
        page.line(f"Question {number} of {len(judged.said)}", style="bold")
        again = bool(seen) and len(request.messages) > seen
        for message in request.messages[seen if again else 0 :]:
            page.cell([(f"{message.role}:", ""), (message.text, "dim")])
        seen = len(request.messages)
        page.cell([("The judge:", ""), (reply.text or "(no text)", "dim")])
    if judged.assessment.verdict is not None:
        counts = isinstance(judged.assessment, Assessed)
        _verdict(page, judged.assessment.verdict, counts=counts)
    passed = judged.assessment.passed
    said = f"{name} {what_happened(judged.assessment)}: {judged.assessment.reason}"
    page.line(said, style="green" if passed else "red")


def _verdict(page: Page, verdict: Verdict, *, counts: bool) -> None:
    """Add a verdict; one that does not count is no score."""
    page.line("Verdict" if counts else "A verdict that does not count", style="bold")
    if counts:
        page.line(f"score {verdict.score:g}, confidence {verdict.confidence:g}", indent=2)
    page.line(verdict.summary, indent=2)
    page.line(f"Evidence: {count(len(verdict.violations), 'violation')}", style="bold")
    for one in verdict.violations:
        page.line(f"{evidence_icon(one)} {one.severity}: {one.rule}", indent=2)
        page.line(f"| {one.quote}", indent=4, style="dim")
        why = f": {one.defect}" if one.defect else ""
        page.line(f"{evidence_mark(one)}{why}", indent=4)
    if verdict.what_would_raise_score:
        page.line(f"What would raise the score: {verdict.what_would_raise_score}", indent=2)
