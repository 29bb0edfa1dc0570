"""What the `judge` assertion makes of a verdict."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gateval.assertions.assess import assess
from gateval.domain.manifests.evaluation import JudgeSpec
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trial import Answer, Assessment, Cause, Side
from gateval.judging.judge import Judge
from tests.helpers.scripted_calls import ScriptedCalls, Turn, outage, says
from tests.helpers.trials import assessed, fixture, trace

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
            "Expected a judge's score of at least 0.80, saw 1.00: So it is.",
        ),
        ([verdict(0.8)], "passed", 0.8, (), "at least 0.80, saw 0.80"),
        ([verdict(0.9, ALSO)], "passed", 0.9, (3,), "saw 0.9"),
        ([verdict(0.2, REAL)], "failed", 0.2, (2,), "at least 0.80, saw 0.20"),
        ([verdict(0, ALSO, REAL, REAL)], "failed", 0, (2, 3), "saw 0.00:"),
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


def asked_often(replies: list[Turn], model: str = "openai/gpt-x") -> tuple[Assessment, Usage, int]:
    """What a judge makes of a run if 0.5 is enough, what it took, and how often it was asked."""
    calls = ScriptedCalls(replies)
    (found,), usage = asyncio.run(
        assess(
            fixture({"type": "judge", "rubric": "x"}), ANSWER, Judge(calls), JudgeSpec(model=model)
        )
    )
    return found, usage, len(calls.asked)


@pytest.mark.parametrize(
    ("scores", "status", "score"),
    [
        ([0.9], "passed", 0.9),
        ([0.61], "passed", 0.61),
        ([0.39], "failed", 0.39),
        ([0.6, 0.8], "passed", 0.6),
        ([0.4, 0.1], "failed", 0.4),
        ([0.55, 0.2, 0.9], "passed", 0.55),
        ([0.55, 0.2, 0.1], "failed", 0.2),
        ([0.45, 0.5, 0.5], "passed", 0.5),
        ([0.45, 0.5, 0.45], "failed", 0.45),
    ],
)
def test_a_score_near_the_border_is_asked_for_again_and_two_of_three_decide(
    scores: list[float], status: str, score: float
) -> None:
    found, usage, asked = asked_often([says(verdict(one, REAL)) for one in scores])
    assert (found.status.value, found.score, found.asked) == (status, score, len(scores))
    assert asked == len(scores)
    assert usage == Usage(input_tokens=10 * asked, output_tokens=5 * asked)


def test_three_answers_of_three_kinds_are_no_verdict() -> None:
    """Passed, failed, and blamed without proof, which is asked twice."""
    scores = [verdict(0.55), verdict(0.45, REAL), verdict(0.45, FAKE), verdict(0.45, FAKE)]
    found, _, asked = asked_often([says(one) for one in scores])
    assert (found.status.value, found.cause, found.score) == ("error", Cause.JUDGE, None)
    assert (asked, found.asked) == (4, 3)


def test_a_scripted_judge_would_say_the_same_again() -> None:
    assert asked_often([says(verdict(0.5))], "scripted/judge")[2] == 1


def test_an_outage_at_the_second_time_leaves_no_verdict() -> None:
    found, _, _ = asked_often([says(verdict(0.55)), outage()])
    assert (found.status.value, found.cause) == ("error", Cause.JUDGE)
