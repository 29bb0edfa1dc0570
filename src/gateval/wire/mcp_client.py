"""The Model Context Protocol as far as a client of tools needs it; `mcp.py` is the server's side.

Format: https://modelcontextprotocol.io/specification/2025-11-25 (initialize, tools/list,
tools/call). What a server asks of its client (roots, sampling) is refused.
"""

from __future__ import annotations

from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import ToolDefinition
from gateval.domain.trials.tools import ToolAnswer
from gateval.wire.base import WireError
from gateval.wire.fields import as_list, as_object, as_text, text_or_empty
from gateval.wire.json_text import read_object, write_json, write_text
from gateval.wire.mcp import NO_METHOD, VERSIONS, error, result

READY = write_json({"jsonrpc": "2.0", "method": "notifications/initialized"})
"""What a client says once it was introduced."""


class Heard(NamedTuple):
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
    params: JsonObject = {
        "protocolVersion": VERSIONS[0],
        "capabilities": {},
        "clientInfo": who,
    }
    return request(number, "initialize", params)


def heard(body: bytes) -> Heard:
    """Read one message. Raises `WireError`."""
    fields = read_object(body)
    if fields.get("jsonrpc") != "2.0":
        raise WireError("no JSON-RPC 2.0")
    failed, given = fields.get("error"), fields.get("result")
    said = ""
    if failed is not None:
        said = text_or_empty(as_object(failed, "`error`").get("message")) or "no reason given"
    return Heard(
        id=fields.get("id"),
        method=text_or_empty(fields.get("method")),
        result=given if isinstance(given, dict) else None,
        error=said,
    )


def refused(asked: Heard) -> bytes | None:
    """Return the answer to what a server asks of us; None for a notification."""
    if not isinstance(asked.id, str | int) or isinstance(asked.id, bool):
        return None
    if asked.method == "ping":
        return result(asked.id, {})
    return error(asked.id, NO_METHOD, "The gate has nothing to offer to servers.")


def spoken(introduced: JsonObject) -> str:
    """Return the version that a server answered `initialize` with. Raises `WireError`."""
    version = text_or_empty(introduced.get("protocolVersion"))
    if version not in VERSIONS:
        raise WireError(f'it speaks the version "{version[:40]}", and the gate does not')
    return version


def tools_in(listed: JsonObject) -> tuple[tuple[ToolDefinition, ...], str]:
    """Return the tools of one page of a list, and the cursor of the next, "" for none.

    Raises `WireError`.
    """
    found = []
    for item in as_list(listed.get("tools"), "`tools`"):
        fields = as_object(item, "a tool")
        schema = fields.get("inputSchema")
        found.append(
            ToolDefinition(
                name=as_text(fields.get("name"), "the name of a tool"),
                description=text_or_empty(fields.get("description")),
                input_schema=as_object(schema, "`inputSchema`")
                if schema is not None
                else {"type": "object"},
            )
        )
    return tuple(found), text_or_empty(listed.get("nextCursor"))


def answer_in(given: JsonObject) -> ToolAnswer:
    """Return what a call of a tool gave; what is no text is named. Raises `WireError`."""
    texts = []
    for item in as_list(given.get("content"), "`content`"):
        part = as_object(item, "a part of `content`")
        kind = text_or_empty(part.get("type")) or "nothing"
        texts.append(text_or_empty(part.get("text")) if kind == "text" else f"[{kind[:40]}]")
    structured = given.get("structuredContent")
    if not texts and structured is not None:
        texts.append(write_text(structured))
    return ToolAnswer("\n".join(texts), is_error=given.get("isError") is True)
