"""Anthropic Messages: what real clients and servers send, beyond what we write ourselves."""

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
from gateval.wire.anthropic import anthropic as anthropic_messages
from gateval.wire.base import WireError


def request(**fields: Any) -> ModelRequest:
    body = {"model": "m", "messages": [], **fields}
    return anthropic_messages.decode_request(json.dumps(body).encode())


def written(*messages: Message) -> dict[str, Any]:
    body = anthropic_messages.encode_request(ModelRequest(model="m", messages=messages))
    parsed: dict[str, Any] = json.loads(body)
    return parsed


def reply(content: list[Any], **fields: Any) -> ModelReply:
    body = {"type": "message", "content": content, "stop_reason": "end_turn", **fields}
    return anthropic_messages.decode_reply(json.dumps(body).encode())


def test_system_prompts_go_to_the_top() -> None:
    body = written(
        Message(role="system", text="one"),
        Message(role="user", text="hi"),
        Message(role="system", text="two"),
    )
    assert body["system"] == [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert body["messages"] == [{"role": "user", "content": "hi"}]
    assert body["max_tokens"] == 4096


def test_results_of_parallel_calls_stand_in_one_message() -> None:
    calls = (ToolCall(id="a", name="f"), ToolCall(id="b", name="g", arguments={"x": 1}))
    body = written(
        Message(role="user", text="go"),
        Message(role="assistant", text="", tool_calls=calls),
        Message(role="tool", text="1", tool_call_id="a"),
        Message(role="tool", text="broke", tool_call_id="b", is_error=True),
        Message(role="user", text="and?"),
        Message(role="assistant", text=""),
        Message(role="user", text="well?"),
    )
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "a", "name": "f", "input": {}},
                {"type": "tool_use", "id": "b", "name": "g", "input": {"x": 1}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "1"},
                {"type": "tool_result", "tool_use_id": "b", "content": "broke", "is_error": True},
                {"type": "text", "text": "and?"},
                {"type": "text", "text": "well?"},
            ],
        },
    ]


def test_arguments_that_are_no_object_are_still_shown() -> None:
    call = ToolCall(id="a", name="f", raw="{broken")
    body = written(Message(role="assistant", tool_calls=(call,)))
    assert body["messages"][0]["content"][0]["input"] == {"unreadable_arguments": "{broken"}


def test_user_blocks() -> None:
    content = [
        {"type": "text", "text": "before"},
        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "1"}]},
        {
            "type": "tool_result",
            "tool_use_id": "b",
            "content": [{"type": "image"}],
            "is_error": True,
        },
        {"type": "tool_result", "tool_use_id": "c"},
        {"type": "text", "text": "see"},
        {"type": "image", "source": {}},
        {"type": "document", "source": {}},
    ]
    assert request(messages=[{"role": "user", "content": content}]).messages == (
        Message(role="user", text="before"),
        Message(role="tool", text="1", tool_call_id="a"),
        Message(role="tool", text="[image]", tool_call_id="b", is_error=True),
        Message(role="tool", text="", tool_call_id="c"),
        Message(role="user", text="see\n[image]\n[document]"),
    )


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        ("one", ["one"]),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], ["a", "b"]),
    ],
)
def test_system_prompts(system: Any, expected: list[str]) -> None:
    assert [message.text for message in request(system=system).messages] == expected


def test_tools_of_the_provider_have_names_too() -> None:
    tools = [{"type": "web_search_20250305", "name": "web_search"}, {"type": "toolset_1"}]
    assert [tool.name for tool in request(tools=tools).tools] == ["web_search", "toolset_1"]


def test_only_what_was_said_and_called_counts() -> None:
    got = reply(
        [
            {"type": "thinking", "thinking": "hmm"},
            {"type": "text", "text": "Let me "},
            {"type": "text", "text": "look."},
            {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
            {"type": "server_tool_use", "id": "b", "name": "web_search", "input": {"q": "y"}},
            {"type": "web_search_tool_result", "content": []},
            {"type": "tool_use", "id": "c", "name": "g", "input": "oops"},
        ],
        stop_reason="tool_use",
    )
    assert got.text == "Let me look."
    assert got.tool_calls == (
        ToolCall(id="a", name="f", arguments={"x": 1}),
        ToolCall(id="b", name="web_search", arguments={"q": "y"}, by_provider=True),
        ToolCall(id="c", name="g", raw="oops"),
    )
    assert got.stop is StopReason.TOOL_CALLS


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", StopReason.END),
        ("stop_sequence", StopReason.END),
        ("max_tokens", StopReason.LENGTH),
        ("model_context_window_exceeded", StopReason.LENGTH),
        ("refusal", StopReason.REFUSAL),
        ("pause_turn", StopReason.OTHER),
        (None, StopReason.OTHER),
    ],
)
def test_why_it_stopped(reason: str | None, expected: StopReason) -> None:
    assert reply([], stop_reason=reason).stop is expected


def test_a_refusal_may_explain_itself() -> None:
    details = {"type": "refusal", "explanation": "Not this."}
    assert reply([], stop_reason="refusal", stop_details=details).text == "Not this."


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ({"input_tokens": 3, "output_tokens": 4}, Usage(input_tokens=3, output_tokens=4)),
        (
            {
                "input_tokens": 3,
                "cache_creation_input_tokens": 10,
                "cache_read_input_tokens": 100,
                "output_tokens": 4,
            },
            Usage(input_tokens=113, output_tokens=4, cached_tokens=100, cache_write_tokens=10),
        ),
        (
            {"cache_read_input_tokens": 100, "output_tokens": 4},
            Usage(output_tokens=4, cached_tokens=100),
        ),
    ],
)
def test_usage(usage: Any, expected: Usage) -> None:
    assert reply([], usage=usage).usage == expected


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b'{"type": "error", "error": {"type": "x", "message": "Overloaded"}}', "Overloaded"),
        (b'{"type": "message"}', "a reply without content"),
        (b'{"content": [{"type": "tool_use", "id": "a"}]}', "the name of a tool call is no text"),
    ],
)
def test_what_is_no_reply(body: bytes, sentence: str) -> None:
    with pytest.raises(WireError, match=sentence):
        anthropic_messages.decode_reply(body)


def test_headers() -> None:
    version = {"anthropic-version": "2023-06-01"}
    assert anthropic_messages.headers("k") == {"x-api-key": "k", **version}
    assert anthropic_messages.headers(None) == version
