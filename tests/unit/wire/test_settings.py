"""Parameters of a request that change the answer, by their names in each wire format."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from gateval.domain.trials.model_call import OffersOfTrial
from gateval.wire.registry import WIRE_FORMATS

SAYS: dict[str, dict[str, JsonValue]] = {
    "openai-chat": {"messages": [{"role": "user", "content": "Hi"}]},
    "openai-responses": {"input": "Hi"},
    "anthropic-messages": {"messages": [{"role": "user", "content": "Hi"}]},
    "gemini-content": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
}
SET: list[tuple[str, dict[str, JsonValue], tuple[str, ...]]] = [
    (
        "openai-chat",
        {
            "top_p": 0.9, "seed": 7, "stop": ["\n", "END"], "reasoning_effort": "low",
            "temperature": 1, "max_tokens": 20, "response_format": {"type": "json_object"},
            "tool_choice": {"type": "function", "function": {"name": "find"}},
            "parallel_tool_calls": True, "presence_penalty": 1.0, "user": "u", "stream": True,
            "logit_bias": None,
        },
        (
            "temperature 1", "max_tokens 20", "top_p 0.9", "presence_penalty 1", "seed 7",
            'stop ["\\n","END"]', "reasoning_effort low", "response_format.type json_object",
            'tool_choice.function {"name":"find"}', "tool_choice.type function",
            "parallel_tool_calls true",
        ),
    ),
    ("openai-chat", {"max_completion_tokens": 20, "stop": "two words"}, ("max_tokens 20", 'stop "two words"')),
    (
        "openai-responses",
        {
            "top_p": 0.9, "max_output_tokens": 20, "reasoning": {"effort": "high", "summary": None},
            "text": {"format": {"type": "text"}, "verbosity": "low"}, "tool_choice": "auto",
        },
        (
            "max_tokens 20", "top_p 0.9", "reasoning.effort high", 'text.format {"type":"text"}',
            "text.verbosity low", "tool_choice auto",
        ),
    ),
    (
        "anthropic-messages",
        {
            "max_tokens": 20, "top_k": 5, "stop_sequences": ["END"], "metadata": {"user_id": "u"},
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
            "mcp_servers": [{"authorization_token": "t"}],
        },
        (
            "max_tokens 20", "top_k 5", 'stop_sequences ["END"]', "thinking.budget_tokens 1024",
            "thinking.type enabled", "tool_choice.disable_parallel_tool_use true", "tool_choice.type any",
        ),
    ),
    (
        "gemini-content",
        {
            "generationConfig": {
                "topP": 0.9, "top_k": 3, "maxOutputTokens": 20, "thinkingConfig": {"thinkingBudget": 0},
                "responseMimeType": "application/json", "responseSchema": {"type": "OBJECT"},
            },
            "tool_config": {"functionCallingConfig": {"mode": "ANY"}},
        },
        (
            "max_tokens 20", "topP 0.9", "topK 3", "thinkingConfig.thinkingBudget 0",
            "responseMimeType application/json", "responseSchema.type OBJECT",
            'toolConfig.functionCallingConfig {"mode":"ANY"}',
        ),
    ),
]  # fmt: skip


def parameters(wire: str, more: dict[str, JsonValue]) -> tuple[str, ...]:
    body = {"model": "m", **SAYS[wire], **more}
    offers = OffersOfTrial()
    offers.add("p/m", WIRE_FORMATS[wire].decode_request(json.dumps(body).encode()))
    found = offers.found()
    assert found is not None
    return found.parameters


@pytest.mark.parametrize(("wire", "more", "told"), SET)
def test_what_a_request_sets(wire: str, more: dict[str, JsonValue], told: tuple[str, ...]) -> None:
    assert parameters(wire, more) == told


def test_every_wire_format_tells_what_is_set() -> None:
    assert {wire for wire, _, _ in SET} == set(WIRE_FORMATS)


def test_of_a_long_value_no_part_is_kept() -> None:
    (told,) = parameters("openai-chat", {"response_format": {"json_schema": "key-" * 2_000}})
    assert told.startswith("response_format.json_schema (8,002 characters, ")
    assert "key-" not in told
    every: list[JsonValue] = [[], {}, 5, "x", [[[]]], {"a": {"b": [1]}}, True]
    for odd in every:
        assert len(parameters("openai-chat", {"tool_choice": odd})) <= 1
