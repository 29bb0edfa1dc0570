"""OpenAI Chat Completions: what real clients and servers send, beyond what we write ourselves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateval.domain.trials.model_call import (
    Message,
    ModelReply,
    ModelRequest,
    StopReason,
    ToolCall,
    Usage,
)
from gateval.wire.base import WireError
from gateval.wire.openai_chat import openai_chat


def request(**fields: Any) -> ModelRequest:
    return openai_chat.decode_request(json.dumps({"model": "m", "messages": [], **fields}).encode())


def message(**fields: Any) -> Message:
    return request(messages=[fields]).messages[0]


def reply(message: dict[str, Any], **choice: Any) -> ModelReply:
    body = {"choices": [{"message": message, "finish_reason": "stop", **choice}]}
    return openai_chat.decode_reply(json.dumps(body).encode())


def call(**function: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "f", **function}}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"role": "developer", "content": "x"}, Message(role="system", text="x")),
        ({"role": "user", "content": None}, Message(role="user")),
        (
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is this?"},
                    {"type": "image_url", "image_url": {"url": "data:..."}},
                    {"type": "input_audio", "input_audio": {}},
                    {"type": "file", "file": {}},
                    {"type": "hologram"},
                ],
            },
            Message(role="user", text="What is this?\n[image]\n[audio]\n[file]\n[hologram]"),
        ),
        (
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
            Message(role="assistant", text="No."),
        ),
        (
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "4"}]},
            Message(role="tool", text="4", tool_call_id="c1"),
        ),
        (
            {"role": "function", "name": "f", "content": "4"},
            Message(role="tool", text="4", tool_call_id="f"),
        ),
        (
            {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
            Message(role="assistant", tool_calls=(ToolCall(id="f", name="f"),)),
        ),
    ],
)
def test_messages(fields: dict[str, Any], expected: Message) -> None:
    assert message(**fields) == expected


@pytest.mark.parametrize(
    ("arguments", "expected", "raw"),
    [
        ('{"a": 1}', {"a": 1}, None),
        ("", {}, None),
        (None, {}, None),
        ({"a": 1}, {"a": 1}, None),
        ("[1]", {}, "[1]"),
        ('{"a": ', {}, '{"a": '),
        ('{"a": NaN}', {}, '{"a": NaN}'),
        ([1], {}, "[1]"),
    ],
)
def test_arguments(arguments: Any, expected: dict[str, Any], raw: str | None) -> None:
    (got,) = reply({"tool_calls": [call(arguments=arguments)]}).tool_calls
    assert got == ToolCall(id="c1", name="f", arguments=expected, raw=raw)


def test_custom_tools_are_tools() -> None:
    custom = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    assert reply({"tool_calls": [custom]}).tool_calls == (
        ToolCall(id="c1", name="sql", raw="select 1"),
    )
    assert request(tools=[{"type": "custom", "custom": {"name": "sql"}}]).tools[0].name == "sql"
    assert request(functions=[{"name": "old"}]).tools[0].name == "old"


@pytest.mark.parametrize(
    ("message", "finish", "expected"),
    [
        ({"content": "x"}, "stop", StopReason.END),
        ({"content": "x"}, "length", StopReason.LENGTH),
        ({"content": "x"}, "content_filter", StopReason.REFUSAL),
        ({"content": None, "refusal": "I will not."}, "stop", StopReason.REFUSAL),
        ({"tool_calls": [call(arguments="{}")]}, "tool_calls", StopReason.TOOL_CALLS),
        ({"tool_calls": [call(arguments="{}")]}, "stop", StopReason.TOOL_CALLS),
        ({"content": "x"}, None, StopReason.OTHER),
        ({"content": "x"}, ["stop"], StopReason.OTHER),
    ],
)
def test_why_it_stopped(message: dict[str, Any], finish: Any, expected: StopReason) -> None:
    assert reply(message, finish_reason=finish).stop is expected


def test_a_refusal_is_what_was_said() -> None:
    assert reply({"content": None, "refusal": "I will not."}).text == "I will not."


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ({"prompt_tokens": 3, "completion_tokens": 4}, Usage(input_tokens=3, output_tokens=4)),
        ({"prompt_tokens": 3, "completion_tokens": None}, Usage(input_tokens=3)),
        ({"prompt_tokens": -3, "completion_tokens": True}, Usage()),
        ("many", Usage()),
    ],
)
def test_usage(usage: Any, expected: Usage) -> None:
    body = {"choices": [{"message": {"content": "x"}}], "usage": usage}
    assert openai_chat.decode_reply(json.dumps(body).encode()).usage == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"max_tokens": 5}, 5),
        ({"max_completion_tokens": 6}, 6),
        ({"max_tokens": 5, "max_completion_tokens": 6}, 6),
        ({}, None),
    ],
)
def test_limits(fields: dict[str, Any], expected: int | None) -> None:
    assert request(**fields).max_tokens == expected


def test_the_limit_is_written_as_newer_models_want_it() -> None:
    body = openai_chat.encode_request(ModelRequest(model="m", messages=(), max_tokens=7))
    assert json.loads(body) == {"model": "m", "messages": [], "max_completion_tokens": 7}


def test_lone_surrogates_become_replacement_characters() -> None:
    body = (
        rb'{"model": "m", "messages": [{"role": "user", "content": "a\ud800b\ud83d\ude00\u0000"}]}'
    )
    text = openai_chat.decode_request(body).messages[0].text
    assert text == "a\ufffdb\N{GRINNING FACE}\x00"
    written = openai_chat.encode_request(
        ModelRequest(model="m", messages=(Message(role="user", text="a\ud800b"),))
    )
    assert "a\ufffdb".encode() in written


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"<html>busy</html>", "no JSON"),
        (b'{"object": "list"}', "a reply without choices"),
        (b'{"error": {"message": "Upstream is down"}}', "Upstream is down"),
        (b'{"choices": ["x"]}', "the first choice is no object"),
        (b'{"choices": [{"message": {"tool_calls": [{}]}}]}', "`function` is no object"),
    ],
)
def test_what_is_no_reply(body: bytes, sentence: str) -> None:
    with pytest.raises(WireError, match=sentence):
        openai_chat.decode_reply(body)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"n": 2}, "only one per call"),
        ({"model": 5}, "`model` is no text"),
        ({"messages": [{"role": "wizard"}]}, 'unknown role "wizard"'),
        ({"tools": [{"type": "function"}]}, "a tool's definition is no object"),
    ],
)
def test_what_is_no_request(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(WireError, match=sentence):
        request(**fields)


def test_numbers_without_end_are_not_sent() -> None:
    with pytest.raises(WireError):
        openai_chat.encode_request(ModelRequest(model="m", messages=(), temperature=float("nan")))


def test_headers() -> None:
    assert openai_chat.headers("k") == {"Authorization": "Bearer k"}
    assert openai_chat.headers(None) == {}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"error": {"message": "No such\\nmodel"}}', "No such model"),
        (b'{"error": "quota"}', "quota"),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b'{"message": "m"}', "m"),
        (b"<html>\n busy </html>", "<html> busy </html>"),
        (b"", ""),
        (b"null", ""),
        (b'{"detail": [{"loc": ["x"]}]}', '[{"loc":["x"]}]'),
    ],
)
def test_errors(body: bytes, expected: str) -> None:
    assert openai_chat.decode_error(body) == expected
