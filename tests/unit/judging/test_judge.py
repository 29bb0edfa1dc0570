"""The conversation with the judge: what it is asked, when again, and what that costs."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gateval.domain.manifests.evaluation import JudgeSpec
from gateval.domain.trials.model_call import Message, ModelReply, StopReason, Usage
from gateval.domain.trials.trial import Cause
from gateval.judging.judge import Judge, JudgeError, JudgeResult
from gateval.judging.prompt import JudgeLimits
from gateval.ports.model_calls import ModelCallError, ModelCallFault
from tests.helpers.scripted_calls import ScriptedCalls, says
from tests.helpers.trials import JUDGE, PROMPT, trace

RUN = trace("user: I want a refund.", 'call refund {"order": "12"}', "says: Done.")
REAL = {"rule": "ask", "severity": "high", "evidence_step": 2, "quote": "refund"}
FAKE = {"rule": "ask", "severity": "high", "evidence_step": 9, "quote": "refund"}


def verdict(score: float, *violations: dict[str, Any]) -> str:
    return json.dumps(
        {
            "score": score,
            "confidence": 1,
            "summary": "S.",
            "violations": violations,
            "what_would_raise_score": "W.",
        }
    )


def judged(
    calls: ScriptedCalls, limits: JudgeLimits | None = None, spec: JudgeSpec = JUDGE
) -> JudgeResult:
    judge = Judge(calls, limits=limits, new_nonce=lambda: "0123456789abcdef")
    return asyncio.run(
        judge.judge(
            rubric="Ask first.",
            spec=spec,
            fixture_input=PROMPT,
            transcript=RUN,
            evidence_below=0.5,
        )
    )


def refused(calls: ScriptedCalls, limits: JudgeLimits | None = None) -> JudgeError:
    with pytest.raises(JudgeError) as caught:
        judged(calls, limits)
    return caught.value


def test_a_good_verdict_takes_one_call() -> None:
    calls = ScriptedCalls([says(verdict(0.2, REAL))])
    result = judged(calls, spec=JudgeSpec(model="anthropic/haiku", temperature=0.3))
    assert result.verdict.violations[0].supported
    assert (result.verdict.model, result.verdict.repaired) == ("anthropic/haiku", False)
    assert result.usage == Usage(input_tokens=10, output_tokens=5)
    ((model, request, _),) = calls.asked
    assert (model, request.model, request.temperature) == ("anthropic/haiku", "haiku", 0.3)
    assert request.max_tokens == 4096
    assert not request.tools, "a judge has no tools"


@pytest.mark.parametrize(
    ("first", "named"),
    [
        ("I would say it passes.", "The answer is not one JSON object"),
        ("", "The answer is empty."),
        (verdict(2), "`score` should be less than or equal to 1"),
        (verdict(0.2, FAKE), "violations[0] (ask): there is no step 9; the steps are 1 to 3."),
        (verdict(0.9, REAL, FAKE), "violations[1] (ask): there is no step 9"),
        (verdict(0.2), "the score is low, but no violation is cited for it."),
    ],
)
def test_a_defect_is_named_once_and_the_conversation_goes_on(first: str, named: str) -> None:
    calls = ScriptedCalls([says(first), says(verdict(0.3, REAL))])
    result = judged(calls)
    assert (result.verdict.score, result.verdict.repaired) == (0.3, True)
    assert result.usage == Usage(input_tokens=20, output_tokens=10)
    before, after = (request.messages for _, request, _ in calls.asked)
    assert after[:2] == before
    assert after[2] == Message(role="assistant", text=first or "(no text)")
    assert named in after[3].text.replace('\\"', '"')


def test_what_is_unsupported_the_second_time_too_is_marked() -> None:
    result = judged(ScriptedCalls([says(verdict(0.1, FAKE)), says(verdict(0.1, REAL, FAKE))]))
    assert [one.supported for one in result.verdict.violations] == [True, False]
    assert result.verdict.violations[1].defect == "there is no step 9; the steps are 1 to 3."


@pytest.mark.parametrize("first", ["no", verdict(1, FAKE), verdict(0.1)])
def test_an_answer_that_cannot_be_used_twice_is_an_error_whatever_came_first(first: str) -> None:
    calls = ScriptedCalls([says(first), says('{"score": 1}'), says(verdict(1))])
    error = refused(calls)
    assert error.cause is Cause.JUDGE
    assert error.message.startswith(
        "the judge gave no usable verdict, asked twice: The JSON does not have the required form: "
        "`confidence` is missing"
    )
    assert len(calls.asked) == 2
    assert error.usage == Usage(input_tokens=20, output_tokens=10)


@pytest.mark.parametrize(
    ("stop", "why"),
    [(StopReason.LENGTH, "cut off at the token limit"), (StopReason.REFUSAL, "refused to answer")],
)
def test_the_defect_says_when_the_provider_knows_why(stop: StopReason, why: str) -> None:
    calls = ScriptedCalls([ModelReply(text='{"score"', stop=stop)] * 2)
    assert why in refused(calls).message
    assert why in calls.asked[1][1].messages[3].text


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (ModelCallFault.OUTAGE, Cause.JUDGE),
        (ModelCallFault.DENIED, Cause.JUDGE),
        (ModelCallFault.REJECTED, Cause.JUDGE),
        (ModelCallFault.UNREADABLE, Cause.JUDGE),
        (ModelCallFault.UNCONFIGURED, Cause.GATE),
    ],
)
def test_a_judge_that_cannot_be_asked_is_not_a_bad_judge(
    fault: ModelCallFault, cause: Cause
) -> None:
    error = refused(ScriptedCalls([ModelCallError(fault, "Because.")]))
    assert (error.cause, error.message) == (cause, "the judge could not be asked: Because.")
    assert error.usage is None


def test_an_outage_at_the_second_question_keeps_the_tokens_of_the_first() -> None:
    calls = ScriptedCalls([says("no"), ModelCallError(ModelCallFault.OUTAGE, "Down.")])
    error = refused(calls)
    assert (error.cause, error.usage) == (
        Cause.JUDGE, Usage(input_tokens=10, output_tokens=5),
    )  # fmt: skip


def test_a_judge_that_is_too_slow_is_given_up() -> None:
    error = refused(ScriptedCalls([30.0, says(verdict(1))]), JudgeLimits(seconds=0.05))
    assert error.cause is Cause.JUDGE
    assert error.message == (
        "the judge could not be asked: scripted/judge did not answer within 0.05 seconds"
    )


def test_an_eval_without_a_judge_model_is_an_error() -> None:
    with pytest.raises(JudgeError, match=r"spec\.judge\.model") as caught:
        judged(ScriptedCalls([says(verdict(1))]), spec=JudgeSpec())
    assert caught.value.cause is Cause.GATE


def test_every_judgement_has_its_own_nonce() -> None:
    calls = ScriptedCalls([says(verdict(1))], forever=True)
    judge = Judge(calls)
    for _ in range(3):
        asyncio.run(judge.judge(rubric="r", spec=JUDGE, fixture_input=PROMPT, transcript=RUN))
    told = [(request.messages[1].text, request.shared_start) for _, request, _ in calls.asked]
    assert len({text[shared:].splitlines()[0] for text, shared in told}) == 3
    assert len({text[:shared] for text, shared in told}) == 1
