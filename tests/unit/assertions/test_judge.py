"""What the `judge` assertion makes of a verdict."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateval.domain.trials.trial import Answer, Cause, Side
from gateval.judging.judge import Judge
from tests.helpers.scripted_calls import ScriptedCalls, says
from tests.helpers.trials import assessed, trace

ANSWER = Answer(
    output="Refund is on its way.",
    trace=trace(
        "user: I want a refund.", 'call refund {"order": "12"}', "says: Refund is on its way."
    ),
    seconds=1,
)
REAL = {"rule": "ask first", "severity": "high", "evidence_step": 2, "quote": "refund"}
ALSO = {"rule": "say sorry", "severity": "low", "evidence_step": 3, "quote": "on its way"}
FAKE = {"rule": "be kind", "severity": "high", "evidence_step": 3, "quote": "go away"}


def verdict(score: float, *violations: dict[str, Any], summary: str = "So it is.") -> str:
    return json.dumps(
        {
            "score": score,
            "confidence": 1,
            "summary": summary,
            "violations": violations,
            "what_would_raise_score": "Ask.",
        }
    )


@pytest.mark.parametrize(
    ("replies", "status", "score", "steps", "reason"),
    [
        (
            [verdict(1)],
            "passed",
            1,
            (),
            "Expected a judge's score of at least 0.8, saw 1: So it is.",
        ),
        ([verdict(0.8)], "passed", 0.8, (), "at least 0.8, saw 0.8"),
        ([verdict(0.9, ALSO)], "passed", 0.9, (3,), "saw 0.9"),
        ([verdict(0.2, REAL)], "failed", 0.2, (2,), "at least 0.8, saw 0.2"),
        ([verdict(0, ALSO, REAL, REAL)], "failed", 0, (2, 3), "saw 0:"),
        ([verdict(0.2, FAKE), verdict(0.2, REAL, FAKE)], "failed", 0.2, (2,), "saw 0.2"),
        (
            [verdict(0.2, FAKE), verdict(0.2, FAKE)],
            "error",
            None,
            (),
            "but its violation is not proven",
        ),
        (
            [verdict(0.2, FAKE), verdict(0.1, FAKE, FAKE)],
            "error",
            None,
            (),
            "none of its 2 is proven",
        ),
        ([verdict(0.2), verdict(0.2)], "error", None, (), "but it names no violation"),
        ([verdict(0.2), verdict(0.9)], "passed", 0.9, (), "saw 0.9"),
        ([verdict(0.9, FAKE), verdict(0.9, FAKE)], "passed", 0.9, (), "saw 0.9"),
    ],
)
def test_a_low_score_fails_only_with_a_proven_violation(
    replies: list[str], status: str, score: float | None, steps: tuple[int, ...], reason: str
) -> None:
    calls = ScriptedCalls(says(reply) for reply in replies)
    found = assessed(
        {"type": "judge", "rubric": "Ask first.", "minScore": 0.8}, ANSWER, Judge(calls)
    )
    assert (found.status.value, found.score, found.steps) == (status, score, steps)
    assert reason in found.reason
    assert found.cause == (Cause.JUDGE if status == "error" else None)
    assert len(calls.asked) == len(replies)
    assert found.verdict is not None
    assert found.verdict.repaired == (len(replies) == 2)


def test_the_threshold_is_one_half_by_default_and_inclusive() -> None:
    for score, status in ((0.5, "passed"), (0.49, "failed")):
        judge = Judge(ScriptedCalls([says(verdict(score, REAL))]))
        assert assessed({"type": "judge", "rubric": "x"}, ANSWER, judge).status.value == status


def test_the_judge_of_the_eval_is_asked_with_heads_scripts() -> None:
    calls = ScriptedCalls([says(verdict(1))])
    assessed({"type": "judge", "rubric": "x", "kind": "rubric"}, ANSWER, Judge(calls))
    ((model, request, side),) = calls.asked
    assert (model, request.model, side) == ("scripted/judge", "judge", Side.HEAD)


def test_a_summary_is_shortened_in_the_reason() -> None:
    judge = Judge(ScriptedCalls([says(verdict(0, REAL, summary="blah " * 200))]))
    found = assessed({"type": "judge", "rubric": "x"}, ANSWER, judge)
    assert len(found.reason) < 300
