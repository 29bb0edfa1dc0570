"""OpenAI Responses: what real bodies look like, and what is kept closed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateval.domain.trials.model_call import Message, StopReason, ToolCall, Usage
from gateval.wire.base import WireError
from gateval.wire.openai_responses import openai_responses as wire


def request(**fields: Any) -> Any:
    return wire.decode_request(json.dumps({"model": "m", **fields}).encode())


def reply(**fields: Any) -> Any:
    return wire.decode_reply(json.dumps({"output": [], **fields}).encode())


def test_a_text_is_a_user_message() -> None:
    got = request(input="hi", instructions="You help.", max_output_tokens=7)
    assert got.messages == (
        Message(role="system", text="You help."),
        Message(role="user", text="hi"),
    )
    assert got.max_tokens == 7


def test_items_of_one_reply_become_one_message() -> None:
    items = [
        {"role": "developer", "content": "Be short."},
        {"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "look"},
            {"type": "input_image", "image_url": "data:image/png;base64,AA=="},
        ]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "xx"},
        {"type": "message", "role": "assistant", "id": "msg_1", "content": [
            {"type": "output_text", "text": "One ", "annotations": []},
            {"type": "output_text", "text": "moment.", "annotations": []},
        ]},
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{\"o\": 7}"},
        {"type": "function_call", "call_id": "b", "name": "look", "arguments": "no json"},
        {"type": "function_call_output", "call_id": "a", "output": "open"},
        {"type": "function_call_output", "call_id": "b", "output": [
            {"type": "input_text", "text": "closed"}, {"type": "input_file", "file_data": "x"}]},
    ]  # fmt: skip
    assert request(input=items).messages == (
        Message(role="system", text="Be short."),
        Message(role="user", text="look\n[image]"),
        Message(
            role="assistant",
            text="One moment.",
            tool_calls=(
                ToolCall(id="a", name="look", arguments={"o": 7}),
                ToolCall(id="b", name="look", raw="no json"),
            ),
        ),
        Message(role="tool", text="open", tool_call_id="a"),
        Message(role="tool", text="closed\n[file]", tool_call_id="b"),
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"conversation": "conv_1"}, "`conversation` names a conversation in the provider's"),
        ({"prompt": {"id": "pmpt_1"}}, "`prompt` names a prompt"),
        ({"background": True}, "`background` asks for an answer to be fetched later"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "`item_reference` names an item"),
        ({"input": [{"id": "msg_1"}]}, "`item_reference` names an item"),
        ({"input": [{"role": "narrator", "content": "x"}]}, "unknown role"),
        ({"input": 7}, "`input` is no list"),
    ],
)
def test_what_reaches_into_the_account_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(WireError, match=words):
        request(**fields)


def test_a_function_may_have_a_parameter_of_any_name() -> None:
    schema = {"type": "object", "properties": {"file_ids": {"type": "array"}}}
    tool = {"type": "function", "name": "look", "parameters": schema, "strict": True}
    assert request(input="x", tools=[tool]).tools[0].input_schema == schema


def test_a_reply_with_everything() -> None:
    got = reply(
        id="resp_1",
        model="served",
        status="completed",
        output=[
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hidden"}]},
            {"type": "web_search_call", "id": "ws_1", "action": {"query": "weather"}},
            {"type": "message", "role": "assistant", "content": [
                {"type": "output_text", "text": "Sunny", "annotations": []}]},
            {"type": "function_call", "call_id": "c", "name": "note", "arguments": "{}"},
        ],
        usage={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
    )  # fmt: skip
    assert (got.id, got.model, got.text, got.stop) == (
        "resp_1", "served", "Sunny", StopReason.TOOL_CALLS,
    )  # fmt: skip
    assert got.tool_calls == (
        ToolCall(id="ws_1", name="web_search", arguments={"query": "weather"}, by_provider=True),
        ToolCall(id="c", name="note"),
    )
    assert got.usage == Usage(input_tokens=3, output_tokens=4)


@pytest.mark.parametrize(
    ("fields", "stop", "text"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
         StopReason.LENGTH, ""),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
         StopReason.REFUSAL, ""),
        ({"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]},
         StopReason.REFUSAL, "No."),
        ({}, StopReason.END, ""),
    ],
)  # fmt: skip
def test_why_a_reply_ends(fields: dict[str, Any], stop: StopReason, text: str) -> None:
    got = reply(**fields)
    assert (got.stop, got.text) == (stop, text)


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "failed", "error": {"code": "server_error", "message": "broken"}},
        {"output": None},
        {"error": {"message": "broken"}},
    ],
)
def test_replies_that_are_none(fields: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        reply(**fields)


def test_tools_of_a_namespace_and_those_that_a_search_found_are_offered() -> None:
    found = {"type": "tool_search_output", "tools": [{"type": "function", "name": "pay"}]}
    space = {"type": "namespace", "name": "crm", "tools": [{"type": "function", "name": "look"}]}
    asked = request(tools=[space, {"type": "tool_search"}], input=[found])
    assert [tool.name for tool in asked.tools] == ["look", "tool_search", "pay"]
