"""Judge."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gateval.assertions.registry import ASSERTIONS
from gateval.domain.manifests.evaluation import JudgeSpec
from gateval.domain.trials.trial import AssessmentStatus
from gateval.gateway.upstream.endpoints import PROVIDERS
from gateval.judging.judge import Judge, JudgeResult
from gateval.judging.prompt import JudgeLimits
from gateval.judging.verdict import parse_verdict
from tests.compat.rows import states
from tests.helpers.scripted_calls import ScriptedCalls, says
from tests.helpers.trials import JUDGE, PROMPT, assessed, called, trace

RUN = trace("user: I want a refund.", "says: I'll create a refund ticket.", "call refund {}")
VIOLATION = {
    "rule": "ask_reason_before_refund",
    "severity": "high",
    "evidence_step": 2,
    "quote": "I'll create a refund ticket",
}
VERDICT: dict[str, Any] = {
    "score": 0.4,
    "confidence": 0.92,
    "summary": "Agent issued a refund without asking why.",
    "violations": [VIOLATION],
    "what_would_raise_score": "Insert a clarify_reason tool call before any refund-related tool.",
}


def judged(*answers: object, spec: JudgeSpec = JUDGE) -> tuple[JudgeResult, ScriptedCalls]:
    calls = ScriptedCalls([says(json.dumps(answer)) for answer in answers])
    found = asyncio.run(
        Judge(calls).judge(rubric="Ask first.", spec=spec, fixture_input=PROMPT, transcript=RUN)
    )
    return found, calls


@states("`spec.judge.model` chooses the judge; each judge assertion has its own rubric")
@states(
    "The prompt has the rubric, the user's input and a numbered transcript, and asks for strict JSON"
)
@states("`judge.temperature: 0`")
def test_what_the_judge_is_asked() -> None:
    _, calls = judged(VERDICT, spec=JudgeSpec(model="anthropic/claude-haiku-4-5"))
    ((model, request, _),) = calls.asked
    assert (model, request.temperature) == ("anthropic/claude-haiku-4-5", 0.0)
    told = "".join(message.text for message in request.messages)
    assert all(part in told for part in ("Ask first.", "I want a refund.", "one JSON object"))


@states(
    "A verdict has `score`, `confidence`, `summary`, `violations[]` with `rule`, `severity`, "
    "`evidence_step` and `quote`, and `what_would_raise_score`"
)
@states(
    "The verdict is stored with the fixture and shown with reasoning, violations and what would "
    "raise the score"
)
def test_the_verdict() -> None:
    found, _ = judged(VERDICT)
    assert (found.verdict.score, found.verdict.confidence) == (0.4, 0.92)
    assert found.verdict.what_would_raise_score.startswith("Insert a clarify_reason")
    (one,) = found.verdict.violations
    assert (one.rule, one.evidence_step, one.supported) == (VIOLATION["rule"], 2, True)


@states(
    "The judge has to cite a step for every violation; one without `evidence_step`, or with a step "
    "that is not there, is a tell that it hallucinates",
    differs="code checks step and quote; what is wrong is named to the judge once, and then does "
    "not count",
)
def test_unsupported_violations() -> None:
    made_up = {**VERDICT, "violations": [{**VIOLATION, "evidence_step": 9}]}
    found, calls = judged(made_up, made_up)
    assert len(calls.asked) == 2
    assert not found.verdict.violations[0].supported
    low = {**made_up, "score": 0.0}
    judge = Judge(ScriptedCalls([says(json.dumps(low))], forever=True))
    assessment = assessed({"type": "judge", "rubric": "Ask."}, called("refund"), judge)
    assert assessment.status is AssessmentStatus.ERROR, "it blames nobody"


@states(
    "Evidence steps lead back to the event in the trace",
    differs="the comment quotes the step, and "
    "`gateval show` marks it in the trace; there is no web page",
)
def test_a_violation_leads_to_its_step() -> None:
    low = {**VERDICT, "score": 0.0, "violations": [{**VIOLATION, "quote": "refund"}]}
    judge = Judge(ScriptedCalls([says(json.dumps(low))], forever=True))
    assessment = assessed({"type": "judge", "rubric": "Ask."}, called("refund"), judge)
    assert (assessment.status, assessment.steps) == (AssessmentStatus.FAILED, (2,))


@states("A judge assertion has `kind: rubric`, `rubric` and `minScore`")
@states("Default `minScore`", differs="0.5; the document names none")
def test_the_least_score() -> None:
    assert ASSERTIONS["judge"].model_fields["min_score"].default == 0.5


@states(
    "Any model of the namespace's ModelProviders can judge",
    differs="any model of a provider that Gateval knows and whose key the gate has",
)
@states(
    "`gemini-2.5-flash` as a cross-vendor sanity check on top of a primary judge",
    differs="an Eval has one judge; two Evals over the same fixtures, or `gateval calibrate "
    "--model`, compare two",
)
def test_providers() -> None:
    assert {"anthropic", "gemini", "openai", "azure", "openrouter"} <= set(PROVIDERS)


@pytest.mark.parametrize(
    ("limit", "value"), [("seconds", 60), ("output_bytes", 8192), ("reasoning_bytes", 4096)]
)
@states("Judge timeout: 60 s per call")
@states("Judge reasoning stored: 4 KiB; 8 KiB of all that it says")
def test_limits(limit: str, value: int) -> None:
    assert getattr(JudgeLimits(), limit) == value


@states("Judge violation list: 10 entries, the rest is dropped from the stored verdict")
@states("A long answer of the judge is cut, not lost")
def test_long_verdicts_are_cut() -> None:
    long = {**VERDICT, "summary": "s" * 9_000, "violations": [VIOLATION] * 12}
    kept = parse_verdict(json.dumps(long), JudgeLimits())
    assert len(kept.violations) == 10
    assert len(kept.summary) < 4096
