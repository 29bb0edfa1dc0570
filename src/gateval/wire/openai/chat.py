"""OpenAI Chat Completions, spoken by OpenAI and by most compatible servers.

Format: https://platform.openai.com/docs/api-reference/chat. A limit on tokens is written as
`max_completion_tokens`, the only name that OpenAI's reasoning models accept; servers that know
only the older `max_tokens` (Ollama) leave it unread. The format cannot say that a tool failed, so
`is_error` is lost; the text of the result has to say it.
"""

from __future__ import annotations

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import ModelReply, ModelRequest, StopReason, ToolCall, Usage
from gateval.wire.base import WireError, decoder
from gateval.wire.fields import (
    as_count,
    as_list,
    as_number,
    as_object,
    as_text,
    content_text,
    error_text,
    error_type,
    text_or_empty,
    with_model,
)
from gateval.wire.json_text import read_object, write_json
from gateval.wire.openai.parts import (
    call_out,
    calls_in,
    message_in,
    message_out,
    tool_out,
    tools_in,
)

base_path = "/v1"
path = "/chat/completions"
decode_error = error_text
for_model = with_model

_STOPS = {
    "stop": StopReason.END,
    "tool_calls": StopReason.TOOL_CALLS,
    "function_call": StopReason.TOOL_CALLS,
    "length": StopReason.LENGTH,
    "content_filter": StopReason.REFUSAL,
}
_FINISHES = {
    StopReason.END: "stop",
    StopReason.TOOL_CALLS: "tool_calls",
    StopReason.LENGTH: "length",
    StopReason.OTHER: "other",
}
_ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def headers(key: str | None) -> dict[str, str]:
    """Return the bearer token, or nothing for a server without keys."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def encode_request(request: ModelRequest) -> bytes:
    """Write a request; see `WireFormat`."""
    body: JsonObject = {
        "model": request.model,
        "messages": [message_out(message) for message in request.messages],
    }
    if request.tools:
        body["tools"] = [tool_out(tool) for tool in request.tools]
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body["max_completion_tokens"] = request.max_tokens
    return write_json(body)


@decoder("request")
def decode_request(body: bytes) -> ModelRequest:
    """Read a request; see `WireFormat`. More than one choice (`n`) is refused: a trace has one."""
    fields = read_object(body)
    if fields.get("n") not in (None, 1):
        raise WireError("`n` asks for several choices; only one per call can be traced, so drop it")
    limit = fields.get("max_completion_tokens")
    return ModelRequest(
        model=as_text(fields.get("model"), "`model`"),
        messages=tuple(message_in(item) for item in as_list(fields.get("messages"), "`messages`")),
        tools=tools_in(fields),
        temperature=as_number(fields.get("temperature")),
        max_tokens=as_count(fields.get("max_tokens") if limit is None else limit),
    )


def encode_reply(reply: ModelReply, request: ModelRequest) -> bytes:
    """Write a reply; see `WireFormat`."""
    refused = reply.stop is StopReason.REFUSAL
    message: JsonObject = {
        "role": "assistant",
        "content": None if refused else reply.text or (None if reply.tool_calls else ""),
        "refusal": (reply.text or None) if refused else None,
    }
    if reply.tool_calls:
        message["tool_calls"] = [call_out(call) for call in reply.tool_calls]
    choice: JsonObject = {"index": 0, "message": message, "finish_reason": finish_out(reply)}
    body: JsonObject = {
        "id": "chatcmpl-gateval",
        "object": "chat.completion",
        "created": 0,
        "model": reply.model or request.model,
        "choices": [{**choice, "logprobs": None}],
        "system_fingerprint": None,  # OpenRouter's client insists on it
    }
    if reply.usage != Usage():
        body["usage"] = usage_out(reply.usage)
    return write_json(body)


@decoder("reply")
def decode_reply(body: bytes) -> ModelReply:
    """Read a reply; see `WireFormat`. Of several choices the first counts."""
    return reply_in(read_object(body))


def reply_in(fields: JsonObject) -> ModelReply:
    """Read a reply from its fields. Raises `WireError`."""
    choices = as_list(fields.get("choices"), "`choices`")
    if not choices:
        said = error_text(write_json(fields.get("error")))
        raise WireError(
            f"an error instead of a reply: {said}" if said else "a reply without choices"
        )
    choice = as_object(choices[0], "the first choice")
    message = as_object(choice.get("message"), "`message`")
    calls = calls_in(message)
    refusal = text_or_empty(message.get("refusal"))
    return ModelReply(
        text=content_text(message.get("content"), "`content`", separator="") + refusal,
        tool_calls=calls,
        stop=_stop_in(choice.get("finish_reason"), refusal=refusal, calls=calls),
        usage=_usage_in(fields.get("usage")),
        model=text_or_empty(fields.get("model")),
        tier=text_or_empty(fields.get("service_tier")),
    )


def finish_out(reply: ModelReply) -> str:
    """Return the reason for which a reply ended."""
    if reply.stop is StopReason.REFUSAL:
        return "stop" if reply.text else "content_filter"
    return _FINISHES[reply.stop]


def usage_out(usage: Usage) -> JsonObject:
    """Return the usage; what is unknown is null."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
    }


def encode_error(status: int, message: str) -> bytes:
    """Write an error; see `WireFormat`."""
    kind = error_type(status, _ERROR_TYPES)
    return write_json({"error": {"message": message, "type": kind, "param": None, "code": None}})


def _stop_in(finish: JsonValue, *, refusal: str, calls: tuple[ToolCall, ...]) -> StopReason:
    if refusal:
        return StopReason.REFUSAL
    stop = _STOPS.get(text_or_empty(finish), StopReason.OTHER)
    # Some compatible servers stop with "stop" although they want tools called.
    return StopReason.TOOL_CALLS if calls and stop is StopReason.END else stop


def _usage_in(value: JsonValue) -> Usage:
    fields = value if isinstance(value, dict) else {}
    return Usage(
        input_tokens=as_count(fields.get("prompt_tokens")),
        output_tokens=as_count(fields.get("completion_tokens")),
        cached_tokens=cached_in(fields.get("prompt_tokens_details")),
    )


def cached_in(details: JsonValue) -> int:
    """Return how many tokens of the input came from the cache, as their details tell."""
    return as_count(details.get("cached_tokens")) or 0 if isinstance(details, dict) else 0
