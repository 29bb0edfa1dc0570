"""Google's `generateContent`, as `google-genai` speaks it.

Format: https://ai.google.dev/api/generate-content. The address names the model, not the body; a
stream has an address of its own.
"""

from __future__ import annotations

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import Message, ModelReply, ModelRequest, StopReason, Usage
from gateval.wire.base import WireError, decoder
from gateval.wire.fields import (
    as_count,
    as_list,
    as_number,
    as_object,
    as_text,
    error_text,
    text_or_empty,
)
from gateval.wire.gemini import fields as shared
from gateval.wire.gemini.fields import (
    model_id,
    pick,
    texts_in,
    without_model,
)
from gateval.wire.gemini.parts import (
    call_out,
    contents_in,
    contents_out,
    said_in,
    tools_in,
    tools_out,
)
from gateval.wire.json_text import read_object, write_json

base_path = "/v1beta"
path = "/models/{model}:generateContent"
headers = shared.headers
encode_error = shared.encode_error
decode_error = error_text
for_model = without_model

_STOPS = {
    "STOP": StopReason.END,
    "MAX_TOKENS": StopReason.LENGTH,
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"),
        StopReason.REFUSAL,
    ),
}
_FINISHES = {
    StopReason.END: "STOP",
    StopReason.TOOL_CALLS: "STOP",
    StopReason.LENGTH: "MAX_TOKENS",
    StopReason.REFUSAL: "SAFETY",
    StopReason.OTHER: "OTHER",
}


def encode_request(request: ModelRequest) -> bytes:
    """Write a request; see `WireFormat`."""
    model_id(request.model)
    body: JsonObject = {"contents": contents_out(request.messages)}
    system: list[JsonValue] = [
        {"text": message.text} for message in request.messages if message.role == "system"
    ]
    if system:
        body["systemInstruction"] = {"parts": system}
    if request.tools:
        body["tools"] = tools_out(request.tools)
    config: JsonObject = {}
    if request.temperature is not None:
        config["temperature"] = request.temperature
    if request.max_tokens is not None:
        config["maxOutputTokens"] = request.max_tokens
    return write_json({**body, "generationConfig": config} if config else body)


@decoder("request")
def decode_request(body: bytes) -> ModelRequest:
    """Read a request; see `WireFormat`. More than one candidate is refused: a trace has one."""
    fields = read_object(body)
    config = pick(fields, "generationConfig") or {}
    given = as_object(config, "`generationConfig`")
    if pick(given, "candidateCount") not in (None, 1):
        raise WireError("`candidateCount` asks for several; only one can be traced, so drop it")
    system = texts_in(pick(fields, "systemInstruction"), "`systemInstruction`")
    messages = [Message(role="system", text=text) for text in system]
    messages += contents_in(fields.get("contents"))
    return ModelRequest(
        model=as_text(fields.get("model"), "`model`"),
        messages=tuple(messages),
        tools=tuple(tools_in(fields.get("tools"))),
        temperature=as_number(given.get("temperature")),
        max_tokens=as_count(pick(given, "maxOutputTokens")),
    )


def encode_reply(reply: ModelReply, request: ModelRequest) -> bytes:
    """Write a reply; see `WireFormat`."""
    parts: list[JsonValue] = [{"text": reply.text}] if reply.text or not reply.tool_calls else []
    parts += [call_out(call) for call in reply.tool_calls]
    return write_json(frame_out(parts, reply, request, ends=True))


def frame_out(
    parts: list[JsonValue], reply: ModelReply, request: ModelRequest, *, ends: bool
) -> JsonObject:
    """Return a response with these parts; the one that `ends` a reply says why, and the usage."""
    candidate: JsonObject = {"content": {"role": "model", "parts": parts}, "index": 0}
    frame: JsonObject = {
        "candidates": [candidate],
        "modelVersion": reply.model or request.model,
        "responseId": "gateval",
    }
    if ends:
        candidate["finishReason"] = _FINISHES[reply.stop]
        counts: JsonObject = {
            "promptTokenCount": reply.usage.input_tokens,
            "candidatesTokenCount": reply.usage.output_tokens,
            "totalTokenCount": reply.usage.total,
        }
        frame["usageMetadata"] = {key: one for key, one in counts.items() if one is not None}
    return frame


@decoder("reply")
def decode_reply(body: bytes) -> ModelReply:
    """Read a reply; see `WireFormat`."""
    return reply_in(read_object(body))


def reply_in(fields: JsonObject) -> ModelReply:
    """Read a reply from its fields. Raises `WireError`."""
    candidates = as_list(fields.get("candidates"), "`candidates`")
    feedback = pick(fields, "promptFeedback")
    blocked = isinstance(feedback, dict) and pick(feedback, "blockReason")
    if not candidates and not blocked:
        said = error_text(write_json(fields.get("error")))
        raise WireError(
            f"an error instead of a reply: {said}" if said else "a reply without candidates"
        )
    candidate = as_object(candidates[0], "a candidate") if candidates else {}
    content = as_object(candidate.get("content") or {}, "`content`")
    parts = [as_object(part, "a part") for part in as_list(content.get("parts"), "`parts`")]
    text, calls = said_in(parts)
    stop = _STOPS.get(text_or_empty(pick(candidate, "finishReason")), StopReason.OTHER)
    if calls and stop is StopReason.END:
        stop = StopReason.TOOL_CALLS
    return ModelReply(
        text=text,
        tool_calls=calls,
        stop=StopReason.REFUSAL if blocked else stop,
        usage=_usage_in(pick(fields, "usageMetadata")),
        model=text_or_empty(pick(fields, "modelVersion")),
    )


def _usage_in(value: JsonValue) -> Usage:
    """Read the usage; thoughts are paid for like the rest of what a model writes."""
    fields = value if isinstance(value, dict) else {}

    def total(first: str, second: str) -> int | None:
        count, more = (as_count(pick(fields, name)) for name in (first, second))
        return None if count is None and more is None else (count or 0) + (more or 0)

    return Usage(
        input_tokens=total("promptTokenCount", "toolUsePromptTokenCount"),
        output_tokens=total("candidatesTokenCount", "thoughtsTokenCount"),
        cached_tokens=as_count(pick(fields, "cachedContentTokenCount")) or 0,
    )
