"""Anthropic Messages.

Format: https://docs.anthropic.com/en/api/messages. What the neutral form may hold and this format
cannot is bent: every system message goes to the top, messages of one role that follow each other
become one (all results of parallel tool calls stand in one user message, as the format demands),
empty texts are left out, a missing token limit becomes `DEFAULT_MAX_TOKENS`.
"""

from __future__ import annotations

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import ModelReply, ModelRequest, StopReason, Usage
from gateval.wire.anthropic.blocks import (
    assistant_in,
    call_out,
    messages_in,
    system_in,
    text_block,
    tool_in,
    tool_out,
    turns_out,
)
from gateval.wire.base import WireError, decoder
from gateval.wire.fields import (
    as_count,
    as_list,
    as_number,
    as_object,
    as_text,
    error_text,
    error_type,
    text_or_empty,
    with_model,
)
from gateval.wire.json_text import read_object, write_json

base_path = ""
path = "/v1/messages"
decode_error = error_text
for_model = with_model

API_VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 4096
_STOPS = {
    "end_turn": StopReason.END,
    "stop_sequence": StopReason.END,
    "tool_use": StopReason.TOOL_CALLS,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "refusal": StopReason.REFUSAL,
}
_REASONS = {
    StopReason.END: "end_turn",
    StopReason.TOOL_CALLS: "tool_use",
    StopReason.LENGTH: "max_tokens",
    StopReason.REFUSAL: "refusal",
    StopReason.OTHER: "other",
}
_ERROR_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def headers(key: str | None) -> dict[str, str]:
    """Return the API version, and the key if there is one."""
    version = {"anthropic-version": API_VERSION}
    return {"x-api-key": key, **version} if key else version


def encode_request(request: ModelRequest) -> bytes:
    """Write a request; see `WireFormat`."""
    limit = DEFAULT_MAX_TOKENS if request.max_tokens is None else request.max_tokens
    body: JsonObject = {"model": request.model, "max_tokens": limit}
    system = [message.text for message in request.messages if message.role == "system"]
    if any(system):
        body["system"] = [text_block(text) for text in system if text]
    body["messages"] = turns_out(request.messages)
    if request.tools:
        body["tools"] = [tool_out(tool) for tool in request.tools]
    if request.temperature is not None:
        body["temperature"] = request.temperature
    return write_json(body)


@decoder("request")
def decode_request(body: bytes) -> ModelRequest:
    """Read a request; see `WireFormat`."""
    fields = read_object(body)
    items = as_list(fields.get("messages"), "`messages`")
    messages = [*system_in(fields.get("system"))]
    for item in items:
        messages.extend(messages_in(as_object(item, "a message")))
    tools = as_list(fields.get("tools"), "`tools`")
    return ModelRequest(
        model=as_text(fields.get("model"), "`model`"),
        messages=tuple(messages),
        tools=tuple(tool_in(as_object(item, "a tool")) for item in tools),
        temperature=as_number(fields.get("temperature")),
        max_tokens=as_count(fields.get("max_tokens")),
    )


def encode_reply(reply: ModelReply, request: ModelRequest) -> bytes:
    """Write a reply; see `WireFormat`. Unknown usage is null, as the field itself is required."""
    return write_json(reply_out(reply, request))


def reply_out(reply: ModelReply, request: ModelRequest) -> JsonObject:
    """Return a reply as the fields of its body."""
    content: list[JsonValue] = [text_block(reply.text)] if reply.text else []
    content += [call_out(call) for call in reply.tool_calls]
    return {
        "id": "msg_gateval",
        "type": "message",
        "role": "assistant",
        "model": reply.model or request.model,
        "content": content,
        "stop_reason": _REASONS[reply.stop],
        "stop_sequence": None,
        "usage": {
            "input_tokens": reply.usage.input_tokens,
            "output_tokens": reply.usage.output_tokens,
        },
    }


@decoder("reply")
def decode_reply(body: bytes) -> ModelReply:
    """Read a reply; see `WireFormat`. Reasoning blocks are no part of what was said."""
    fields = read_object(body)
    if fields.get("type") == "error":
        raise WireError(f"an error instead of a reply: {error_text(body)}")
    return reply_in(fields)


def reply_in(fields: JsonObject) -> ModelReply:
    """Read a reply from its fields. Raises `WireError`."""
    if not isinstance(fields.get("content"), list):
        raise WireError("a reply without content")
    text, calls = assistant_in(fields["content"])
    return ModelReply(
        text=text or _explanation(fields.get("stop_details")),
        tool_calls=calls,
        stop=_STOPS.get(text_or_empty(fields.get("stop_reason")), StopReason.OTHER),
        usage=_usage_in(fields.get("usage")),
        model=text_or_empty(fields.get("model")),
    )


def encode_error(status: int, message: str) -> bytes:
    """Write an error; see `WireFormat`."""
    error: JsonObject = {"type": error_type(status, _ERROR_TYPES), "message": message}
    return write_json({"type": "error", "error": error})


def _explanation(details: JsonValue) -> str:
    return text_or_empty(details.get("explanation")) if isinstance(details, dict) else ""


def _usage_in(value: JsonValue) -> Usage:
    """Read the usage; tokens written to and read from the cache are input like any other."""
    fields = value if isinstance(value, dict) else {}
    written, read = (
        as_count(fields.get(name)) or 0
        for name in ("cache_creation_input_tokens", "cache_read_input_tokens")
    )
    fresh = as_count(fields.get("input_tokens"))
    return Usage(
        input_tokens=None if fresh is None else fresh + written + read,
        output_tokens=as_count(fields.get("output_tokens")),
        cached_tokens=read,
        cache_write_tokens=written,
    )
