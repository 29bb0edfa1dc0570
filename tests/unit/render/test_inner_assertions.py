"""Every view tells which parts of a combinator decided it, where they stand and with what proof."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gateval.domain.decision.decision import Report, make_report
from gateval.domain.manifests.fixture import AssertionSpec, Severity
from gateval.domain.problems import SourceLocation
from gateval.domain.trials.trial import AssessmentStatus, Verdict, Violation
from gateval.render.comment import render_comment
from gateval.render.junit import render_junit
from gateval.render.terminal.summary import render_summary
from gateval.render.view import ReportView
from tests.helpers.assessments import make_assessment
from tests.helpers.reports import edit, edit_fixture, make_results

FAILED = AssessmentStatus.FAILED
PROOF = Violation(
    rule="Ask first.",
    severity=Severity.HIGH,
    evidence_step=2,
    quote="I have refunded it",
    supported=True,
)
JUDGED = make_assessment(
    type="judge",
    at=(1, 0),
    status=FAILED,
    score=0.1,
    reason="Expected a judge's score of at least 0.5, saw 0.1.",
    steps=(2,),
    verdict=Verdict(score=0.1, confidence=0.9, summary="No.", violations=(PROOF,)),
)
WHOLE = make_assessment(
    type="any",
    status=FAILED,
    score=0.1,
    reason="Expected at least one of 2 assertions to pass, saw none.",
    parts=(
        make_assessment(
            type="contains", at=(0,), status=FAILED, score=0, reason='Expected "reason".'
        ),
        make_assessment(
            type="all", at=(1,), status=FAILED, score=0, reason="All.", parts=(JUDGED,)
        ),
    ),
)


def spec(kind: str, line: int, *parts: AssertionSpec) -> AssertionSpec:
    return AssertionSpec(
        type=kind, parts=parts, place=SourceLocation(file="evals/f.yaml", line=line)
    )


@pytest.fixture
def report() -> Report:
    results = make_results("e f head:fail base:pass")
    written = spec("any", 7, spec("contains", 9), spec("all", 10, spec("judge", 12)))
    results = edit_fixture(results, "f", assertions=(written,))
    return make_report(edit(results, "e/f #1 on head", assessments=(WHOLE,)))


@pytest.mark.parametrize("render", [render_comment, render_junit, render_summary])
def test_parts_are_told_with_place_and_proof(
    render: Callable[[ReportView], object], report: Report
) -> None:
    text = str(render(ReportView(report)))
    for words in ("any › contains", "any › all › judge", "evals/f.yaml:9", "evals/f.yaml:12"):
        assert words in text
    assert "I have refunded it" in text
