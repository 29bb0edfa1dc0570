"""Answers by a JSON Schema where a provider has them, and questions that begin alike."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import jsonschema_rs
import pytest

from gateval.domain.trials.model_call import Message, ModelRequest
from gateval.judging.judge import Judge, JudgeError
from gateval.judging.prompt import VERDICT_SCHEMA, JudgeLimits, judge_request, rubric_question
from gateval.judging.verdict import CHECKS_SCHEMA
from gateval.ports.model_calls import ModelCallError, ModelCallFault
from gateval.wire.registry import WIRE_FORMATS
from tests.helpers.calibrations import verdict
from tests.helpers.scripted_calls import ScriptedCalls, says
from tests.helpers.trials import JUDGE, PROMPT, trace

RUN = trace("user: Hello", "says: Get lost")


def body(wire: str, model: str, schema: Any = VERDICT_SCHEMA) -> Any:
    """What is sent."""
    said = (Message(role="system", text="Judge."), Message(role="user", text="Rubric. Run."))
    request = ModelRequest(model=model, messages=said, answer_schema=schema, shared_start=8)
    return json.loads(json.dumps(WIRE_FORMATS[wire].request_out(request)))


def schema_in(sent: Any) -> Any:
    """The schema in a body, wherever the format has it; None for none."""
    config = sent.get("generationConfig", {})
    found = [
        sent.get("response_format", {}).get("json_schema", {}).get("schema"),
        sent.get("text", {}).get("format", {}).get("schema"),
        sent.get("output_config", {}).get("format", {}).get("schema"),
        config.get("responseJsonSchema") if "responseMimeType" in config else None,
    ]
    return next((one for one in found if one is not None), None)


@pytest.mark.parametrize(
    ("wire", "model", "native"),
    [
        ("openai-chat", "gpt-4o-mini", True),
        ("openai-chat", "gpt-4o-2024-08-06", True),
        ("openai-chat", "gpt-4o-2024-05-13", False),
        ("openai-chat", "gpt-4.1-nano", True),
        ("openai-chat", "gpt-5-mini", True),
        ("openai-chat", "openai/gpt-5", True),  # as OpenRouter has it
        ("openai-chat", "gpt-4-turbo", False),
        ("openai-chat", "gpt-3.5-turbo", False),
        ("openai-chat", "o1-mini", False),
        ("openai-chat", "o3", True),
        ("openai-chat", "llama3.1:8b", False),
        ("openai-responses", "gpt-5", True),
        ("openai-responses", "gpt-4", False),
        ("anthropic-messages", "claude-sonnet-4-5-20250929", True),
        ("anthropic-messages", "claude-opus-4-6", True),
        ("anthropic-messages", "claude-opus-4-20250514", False),
        ("anthropic-messages", "claude-opus-4-1", False),
        ("anthropic-messages", "claude-3-7-sonnet-latest", False),
        ("gemini-content", "gemini-2.5-flash", True),
        ("gemini-content", "gemini-3-pro-preview", True),
        ("gemini-content", "gemini-1.5-pro", False),
    ],
)
def test_wire_and_model_decide_who_is_held_to_a_schema(wire: str, model: str, native: bool) -> None:
    assert schema_in(body(wire, model)) == (VERDICT_SCHEMA if native else None)
    assert schema_in(body(wire, model, None)) is None


@pytest.mark.parametrize("schema", [VERDICT_SCHEMA, CHECKS_SCHEMA])
def test_a_schema_is_one_that_strict_modes_take(schema: Any) -> None:
    jsonschema_rs.validator_for(schema)

    def objects(one: Any) -> Any:
        if isinstance(one, dict):
            yield from [one] if one.get("type") == "object" else []
            for each in one.values():
                yield from objects(each)

    for one in objects(schema):
        assert set(one["required"]) == set(one["properties"])
        assert one["additionalProperties"] is False


def test_what_a_native_answer_says_is_checked_like_any_other() -> None:
    calls = ScriptedCalls([says('{"score": 2}'), says(verdict(0.9))])
    found = asyncio.run(
        Judge(calls).judge(rubric="R", spec=JUDGE, fixture_input=PROMPT, transcript=RUN)
    )
    assert found.verdict.repaired
    assert all(request.answer_schema == VERDICT_SCHEMA for _, request, _ in calls.asked)


def test_a_provider_that_refuses_the_schema_is_asked_without_from_then_on() -> None:
    refusal = ModelCallError(ModelCallFault.REJECTED, "Unknown parameter.", status=400)
    calls = ScriptedCalls([refusal, says(verdict(0.9)), says(verdict(0.8))])
    judge = Judge(calls)
    for _ in range(2):
        asyncio.run(judge.judge(rubric="R", spec=JUDGE, fixture_input=PROMPT, transcript=RUN))
    asked = [request.answer_schema is not None for _, request, _ in calls.asked]
    assert asked == [True, False, False]


def test_a_run_that_its_provider_refuses_costs_no_other_run_the_schema() -> None:
    refusal = ModelCallError(ModelCallFault.REJECTED, "The prompt was filtered.", status=400)
    calls = ScriptedCalls([refusal, refusal, says(verdict(0.9))])
    judge = Judge(calls)
    with pytest.raises(JudgeError, match="could not be asked: The prompt was filtered"):
        asyncio.run(judge.judge(rubric="R", spec=JUDGE, fixture_input=PROMPT, transcript=RUN))
    asyncio.run(judge.judge(rubric="R", spec=JUDGE, fixture_input=PROMPT, transcript=RUN))
    asked = [request.answer_schema is not None for _, request, _ in calls.asked]
    assert asked == [True, False, True]


def test_questions_of_one_rubric_begin_alike_and_differ_from_the_code_on() -> None:
    one, other = (
        judge_request(
            rubric_question("Is it kind?", JudgeLimits()),
            spec=JUDGE,
            fixture_input=PROMPT,
            transcript=run,
            nonce=nonce,
            limits=JudgeLimits(),
        )
        for nonce, run in (("1" * 16, RUN), ("2" * 16, trace("user: Hi", "says: Bye")))
    )
    shared = one.shared_start
    assert one.messages[0] == other.messages[0]
    assert one.messages[1].text[:shared] == other.messages[1].text[:shared]
    assert one.messages[1].text[shared:].startswith(f"<run-{'1' * 16}>")
    assert "Is it kind?" in one.messages[1].text[:shared]


def test_the_breakpoint_of_a_cache_stands_where_questions_part() -> None:
    first, second = body("anthropic-messages", "claude-3-haiku")["messages"][0]["content"]
    assert first == {"type": "text", "text": "Rubric. ", "cache_control": {"type": "ephemeral"}}
    assert second == {"type": "text", "text": "Run."}
