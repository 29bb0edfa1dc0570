"""The Model Context Protocol as far as a server that has tools and nothing else needs it.

JSON-RPC 2.0 messages, one in the body of each POST, answered by JSON: what "Streamable HTTP" of
https://modelcontextprotocol.io/specification allows a server that never speaks first. No session
ids, no batches, no streams. Clients of later versions find out by `initialize` that these are ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import ToolDefinition
from gateval.domain.trials.tools import ToolAnswer
from gateval.wire.base import WireError
from gateval.wire.json_text import read_object, write_json

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")

UNREADABLE, INVALID, NO_METHOD, BAD_PARAMS, REFUSED = -32700, -32600, -32601, -32602, -32000
"""Error codes of JSON-RPC, and the first of those that servers may give a meaning of their own."""

Id = str | int | None


class McpMessage(NamedTuple):
    """A message of a client. Without `method` it answers something, which nobody asked here; a
    notification has no `id`, and gets no answer.
    """

    id: Id
    method: str
    params: JsonObject


def read(body: bytes) -> McpMessage:
    """Read one message. Raises `WireError`."""
    fields = read_object(body)
    if fields.get("jsonrpc") != "2.0":
        raise WireError("no JSON-RPC 2.0")
    number, method, params = fields.get("id"), fields.get("method", ""), fields.get("params") or {}
    if isinstance(number, bool) or not isinstance(number, str | int | None):
        raise WireError('"id" is no text and no whole number')
    if not isinstance(method, str) or not isinstance(params, dict):
        raise WireError('"method" is no text, or "params" no object')
    return McpMessage(number, method, params)


def result(number: Id, value: JsonObject) -> bytes:
    """Write the answer to a request."""
    return write_json({"jsonrpc": "2.0", "id": number, "result": value})


def error(number: Id, code: int, message: str) -> bytes:
    """Write the refusal of a request."""
    said: JsonObject = {"code": code, "message": message}
    return write_json({"jsonrpc": "2.0", "id": number, "error": said})


def introduction(params: JsonObject, server: str, version: str) -> JsonObject:
    """Return the result of `initialize`: the client's version if we speak it, else our latest."""
    asked = params.get("protocolVersion")
    spoken = asked if isinstance(asked, str) and asked in VERSIONS else VERSIONS[0]
    return {
        "protocolVersion": spoken,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": server, "version": version},
    }


def listing(tools: Iterable[ToolDefinition]) -> JsonObject:
    """Return the result of `tools/list`."""
    listed: list[JsonValue] = [
        {"name": tool.name, "description": tool.description, "inputSchema": _schema(tool)}
        for tool in tools
    ]
    return {"tools": listed}


def _schema(tool: ToolDefinition) -> JsonObject:
    """A schema says of itself that it is one of an object, or clients refuse the whole list."""
    return {**tool.input_schema, "type": "object"}


def call(params: JsonObject) -> tuple[str, JsonObject]:
    """Return name and arguments of a `tools/call`. Raises `WireError`."""
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str) or not name:
        raise WireError('"name" names no tool')
    if arguments is not None and not isinstance(arguments, dict):
        raise WireError('"arguments" is no object')
    return name, arguments or {}


def answered(answer: ToolAnswer) -> JsonObject:
    """Return the result of a `tools/call`."""
    content: list[JsonValue] = [{"type": "text", "text": answer.text}]
    return {"content": content, "isError": answer.is_error}
