"""The Model Context Protocol as far as a server and a client of tools need it.

JSON-RPC 2.0 messages, one in the body of each POST, answered by JSON: what "Streamable HTTP" of
https://modelcontextprotocol.io/specification allows a server that never speaks first. No session
ids, no batches, no streams. Clients of later versions find out by `initialize` that these are ours.

Format: https://modelcontextprotocol.io/specification/2025-11-25 (initialize, tools/list,
tools/call). What a server asks of its client (roots, sampling) is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.strict_json import string_of
from gateval.domain.trials.model_call import ToolDefinition
from gateval.domain.trials.trace import ToolAnswer
from gateval.wire.base import (
    WireError,
    as_object,
    list_in,
    objects_in,
    read_object,
    tool_definition,
    write_json,
    write_text,
)

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
    fields = _fields(body)
    number, method, params = fields.get("id"), fields.get("method", ""), fields.get("params") or {}
    if isinstance(number, bool) or not isinstance(number, str | int | None):
        raise WireError('"id" is no text and no whole number')
    if not isinstance(method, str) or not isinstance(params, dict):
        raise WireError('"method" is no text, or "params" no object')
    return McpMessage(number, method, params)


def _fields(body: bytes) -> JsonObject:
    fields = read_object(body)
    if fields.get("jsonrpc") != "2.0":
        raise WireError("no JSON-RPC 2.0")
    return fields


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
    """Return the result of `tools/list`.

    A schema says of itself that it is one of an object, or clients refuse the whole list.
    """
    listed: list[JsonValue] = [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": {**tool.input_schema, "type": "object"},
        }
        for tool in tools
    ]
    return {"tools": listed}


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


READY = write_json({"jsonrpc": "2.0", "method": "notifications/initialized"})
"""What a client says once it was introduced."""


class ServerMessage(NamedTuple):
    """A message of a server: the answer to the request `id`, or a request of its own (`method`)."""

    id: JsonValue
    method: str
    result: JsonObject | None
    error: str


def request(number: int, method: str, params: JsonObject) -> bytes:
    """Write a request, in one line."""
    return write_json({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def hello(number: int, client: str, version: str) -> bytes:
    """Write the request that begins a session."""
    who: JsonObject = {"name": client, "version": version}
    spoken: JsonObject = {"protocolVersion": VERSIONS[0], "capabilities": {}, "clientInfo": who}
    return request(number, "initialize", spoken)


def heard(body: bytes) -> ServerMessage:
    """Read one message. Raises `WireError`."""
    fields = _fields(body)
    failed, given = fields.get("error"), fields.get("result")
    said = ""
    if failed is not None:
        said = string_of(as_object(failed, "`error`").get("message")) or "no reason given"
    return ServerMessage(
        id=fields.get("id"),
        method=string_of(fields, "method"),
        result=given if isinstance(given, dict) else None,
        error=said,
    )


def refused(asked: ServerMessage) -> bytes | None:
    """Return the answer to what a server asks of us; None for a notification."""
    if not isinstance(asked.id, str | int) or isinstance(asked.id, bool):
        return None
    if asked.method == "ping":
        return result(asked.id, {})
    return error(asked.id, NO_METHOD, "The gate has nothing to offer to servers.")


def spoken(introduced: JsonObject) -> str:
    """Return the version that a server answered `initialize` with. Raises `WireError`."""
    version = string_of(introduced, "protocolVersion")
    if version not in VERSIONS:
        raise WireError(f'it speaks the version "{version[:40]}", and the gate does not')
    return version


def tools_in(listed: JsonObject) -> tuple[tuple[ToolDefinition, ...], str]:
    """Return the tools of one page of a list, and the cursor of the next, "" for none.

    Raises `WireError`.
    """
    tools = objects_in(listed, "tools", "a tool")
    found = tuple(
        tool_definition(one.get("name"), one, one.get("inputSchema"), "inputSchema")
        for one in tools
    )
    return found, string_of(listed, "nextCursor")


def answer_in(given: JsonObject) -> ToolAnswer:
    """Return what a call of a tool gave; what is no text is named. Raises `WireError`."""
    texts = []
    for item in list_in(given, "content"):
        part = as_object(item, "a part of `content`")
        kind = string_of(part, "type") or "nothing"
        texts.append(string_of(part, "text") if kind == "text" else f"[{kind[:40]}]")
    structured = given.get("structuredContent")
    if not texts and structured is not None:
        texts.append(write_text(structured))
    return ToolAnswer("\n".join(texts), is_error=given.get("isError") is True)
