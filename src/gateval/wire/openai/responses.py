"""OpenAI Responses, the format that OpenAI's newer SDKs and frameworks speak by default.

Format: https://platform.openai.com/docs/api-reference/responses. A request may continue a stored
response (`previous_response_id`); who stores it is not the format's business. What names other data
of the account (conversations, prompts, files, vector stores) is refused: behind the gateway stands
a real key, and other people's data with it. Like the older format it cannot say that a tool failed.
"""

from __future__ import annotations

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import Message, ModelReply, ModelRequest, StopReason, Usage
from gateval.wire.base import WireError, decoder
from gateval.wire.fields import (
    as_count,
    as_number,
    as_text,
    error_text,
    error_type,
    text_or_empty,
    with_model,
)
from gateval.wire.json_text import read_object, write_json
from gateval.wire.openai import chat as openai_chat
from gateval.wire.openai.responses_items import (
    call_out,
    items_out,
    messages_in,
    output_in,
    tool_out,
    tools_in,
)

base_path = "/v1"
path = "/responses"
decode_error = error_text
for_model = with_model

NO_ID = "resp_gateval"
"""The id of a response that nobody stores."""

_ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CLOSED = {
    "background": "asks for an answer to be fetched later, which needs an endpoint not served here",
    "conversation": "names a conversation in the provider's account, which is closed here; use "
    "`previous_response_id`",
    "prompt": "names a prompt in the provider's account, which is closed here; send its text",
}


def headers(key: str | None) -> dict[str, str]:
    """Return the bearer token, or nothing for a server without keys."""
    return openai_chat.headers(key)


def encode_request(request: ModelRequest) -> bytes:
    """Write a request; see `WireFormat`. Nothing is stored at the provider."""
    items: list[JsonValue] = [item for said in request.messages for item in items_out(said)]
    body: JsonObject = {"model": request.model, "input": items, "store": False}
    if request.continues:
        body["previous_response_id"] = request.continues
    if request.tools:
        body["tools"] = [tool_out(tool) for tool in request.tools]
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body["max_output_tokens"] = request.max_tokens
    return write_json(body)


@decoder("request")
def decode_request(body: bytes) -> ModelRequest:
    """Read a request; see `WireFormat`. What reaches into the provider's account is refused."""
    fields = read_object(body)
    for name, why in _CLOSED.items():
        if fields.get(name):
            raise WireError(f"`{name}` {why}")
    instructions = text_or_empty(fields.get("instructions"))
    system = (Message(role="system", text=instructions),) if instructions else ()
    return ModelRequest(
        model=as_text(fields.get("model"), "`model`"),
        messages=(*system, *messages_in(fields.get("input"))),
        tools=tools_in(fields),
        temperature=as_number(fields.get("temperature")),
        max_tokens=as_count(fields.get("max_output_tokens")),
        continues=text_or_empty(fields.get("previous_response_id")),
    )


def encode_reply(reply: ModelReply, request: ModelRequest) -> bytes:
    """Write a reply; see `WireFormat`."""
    return write_json(reply_out(reply, request))


def reply_out(reply: ModelReply, request: ModelRequest) -> JsonObject:
    """Return a reply as the fields of its body."""
    cut = {StopReason.LENGTH: "max_output_tokens"}.get(reply.stop)
    if reply.stop is StopReason.REFUSAL and not reply.text:
        cut = "content_filter"
    return {
        "id": reply.id or NO_ID,
        "object": "response",
        "created_at": 0,
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": cut} if cut else None,
        "error": None,
        "model": reply.model or request.model,
        "output": [*output_out(reply)],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [tool_out(tool) for tool in request.tools],
        "previous_response_id": request.continues or None,
        "usage": None if reply.usage == Usage() else _usage_out(reply.usage),
    }


def output_out(reply: ModelReply) -> list[JsonObject]:
    """Return the items of a reply: what it said, then its calls."""
    items: list[JsonObject] = []
    base = reply.id or NO_ID
    if reply.text or not reply.tool_calls:
        part: JsonObject = {"type": "output_text", "text": reply.text, "annotations": []}
        if reply.stop is StopReason.REFUSAL:
            part = {"type": "refusal", "refusal": reply.text}
        message: JsonObject = {"type": "message", "id": f"msg_{base}", "role": "assistant"}
        items.append({**message, "status": "completed", "content": [part]})
    for number, call in enumerate(reply.tool_calls, start=1):
        items.append({"id": f"fc_{base}_{number}", "status": "completed", **call_out(call)})
    return items


def _usage_out(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total,
    }


@decoder("reply")
def decode_reply(body: bytes) -> ModelReply:
    """Read a reply; see `WireFormat`. Reasoning is no part of what was said."""
    return reply_in(read_object(body))


def reply_in(fields: JsonObject) -> ModelReply:
    """Read a reply from its fields. Raises `WireError`."""
    if fields.get("error") or fields.get("status") in ("failed", "cancelled"):
        said = error_text(write_json(fields.get("error")))
        raise WireError(f"an error instead of a reply: {said or 'no reason given'}")
    if not isinstance(fields.get("output"), list):
        raise WireError("a reply without output")
    text, refusal, calls = output_in(fields["output"])
    given = fields.get("usage")
    usage = given if isinstance(given, dict) else {}
    stop = _cut(fields.get("incomplete_details"))
    if stop is None:
        stop = StopReason.TOOL_CALLS if calls else StopReason.END
    return ModelReply(
        text=text + refusal,
        tool_calls=calls,
        stop=StopReason.REFUSAL if refusal else stop,
        usage=Usage(
            input_tokens=as_count(usage.get("input_tokens")),
            output_tokens=as_count(usage.get("output_tokens")),
            cached_tokens=openai_chat.cached_in(usage.get("input_tokens_details")),
        ),
        model=text_or_empty(fields.get("model")),
        tier=text_or_empty(fields.get("service_tier")),
        id=text_or_empty(fields.get("id")),
    )


def _cut(details: JsonValue) -> StopReason | None:
    reason = details.get("reason") if isinstance(details, dict) else None
    if reason is None:
        return None
    known = {"max_output_tokens": StopReason.LENGTH, "content_filter": StopReason.REFUSAL}
    return known.get(text_or_empty(reason), StopReason.OTHER)


def encode_error(status: int, message: str) -> bytes:
    """Write an error; see `WireFormat`."""
    kind = error_type(status, _ERROR_TYPES)
    return write_json({"error": {"message": message, "type": kind, "param": None, "code": None}})
