"""The Model Context Protocol: messages of clients, and what a server of tools says to them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateval.domain.trials.model_call import ToolDefinition
from gateval.domain.trials.trace import ToolAnswer
from gateval.wire import mcp
from gateval.wire.base import WireError

READ: list[tuple[dict[str, Any], mcp.McpMessage]] = [
    ({"id": 1, "method": "ping"}, mcp.McpMessage(1, "ping", {})),
    ({"id": "a", "method": "x", "params": {"y": 1}}, mcp.McpMessage("a", "x", {"y": 1})),
    (
        {"method": "notifications/initialized"},
        mcp.McpMessage(None, "notifications/initialized", {}),
    ),
    ({"id": 0, "result": {}}, mcp.McpMessage(0, "", {})),
    ({"id": 2, "method": "ping", "params": None}, mcp.McpMessage(2, "ping", {})),
]


@pytest.mark.parametrize(("fields", "expected"), READ)
def test_messages_are_read(fields: dict[str, Any], expected: mcp.McpMessage) -> None:
    assert mcp.read(json.dumps({"jsonrpc": "2.0", **fields}).encode()) == expected


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "no JSON"),
        (b"[]", "no JSON object"),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', "no JSON object"),
        (b'{"id":1,"method":"ping"}', "no JSON-RPC 2.0"),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', '"id" is no text'),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', '"id" is no text'),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', '"id" is no text'),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', '"method" is no text'),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}', '"params" no object'),
        (b"[" * 200_000, "nested too deeply"),
    ],
)
def test_what_is_no_message_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(WireError, match=reason):
        mcp.read(body)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_reading_never_fails_otherwise(body: bytes) -> None:
    try:
        mcp.read(body)
    except WireError as error:
        assert str(error)  # noqa: PT017 - it need not be raised


@pytest.mark.parametrize(
    ("asked", "spoken"),
    [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("2099-01-01", "2025-11-25"), (7, "2025-11-25")],
)  # fmt: skip
def test_versions_are_negotiated(asked: Any, spoken: str) -> None:
    said = mcp.introduction({"protocolVersion": asked}, "gateval", "1")
    assert said["protocolVersion"] == spoken
    assert said["capabilities"] == {"tools": {}}


def test_tools_are_listed_as_objects() -> None:
    odd = ToolDefinition(name="odd", description="d", input_schema={"properties": {"a": {}}})
    assert mcp.listing([ToolDefinition(name="plain"), odd]) == {
        "tools": [
            {"name": "plain", "description": "", "inputSchema": {"type": "object"}},
            {"name": "odd", "description": "d", "inputSchema": {"type": "object", "properties": {"a": {}}}},
        ]
    }  # fmt: skip


def test_calls_and_their_answers() -> None:
    wrongs: list[dict[str, Any]] = [{}, {"name": 1}, {"name": ""}, {"name": "x", "arguments": [1]}]
    assert mcp.call({"name": "x"}) == ("x", {})
    assert mcp.call({"name": "x", "arguments": {"a": 1}}) == ("x", {"a": 1})
    for wrong in wrongs:
        with pytest.raises(WireError):
            mcp.call(wrong)
    assert mcp.answered(ToolAnswer("down", is_error=True)) == {
        "content": [{"type": "text", "text": "down"}],
        "isError": True,
    }
