"""OpenAI Responses, streamed: events on the way, and the whole response in the last one.

Format: https://platform.openai.com/docs/api-reference/responses-streaming.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import ModelReply, ModelRequest, StopReason
from gateval.wire import openai_responses
from gateval.wire.base import (
    EventRole,
    WireError,
    as_object,
    decoder,
    error_text,
    pieces_of,
    read_object,
    text_or_empty,
    write_json,
    write_text,
)
from gateval.wire.openai_responses import output_out, reply_in, reply_out
from gateval.wire.sse import SseEvent

path = openai_responses.path

_LAST = {"response.completed", "response.incomplete"}
_TEXTS = {"response.output_text.delta", "response.refusal.delta"}


def stream_body(fields: JsonObject) -> JsonObject:
    """Return the body as it is: usage comes without asking; see `StreamFormat`."""
    return fields


def stream_reader(_fields: JsonObject) -> _Reader:
    """Return a reader; see `StreamFormat`."""
    return _Reader()


class _Reader:
    """Waits for the whole response; fulfils `StreamReader`."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._items: list[JsonValue] = []
        self._last: JsonObject | None = None

    @decoder("stream")
    def read(self, event: SseEvent) -> EventRole:
        if event.data is None:
            return EventRole()
        if event.data.strip() == "[DONE]":
            return EventRole(ends=True)
        fields = read_object(event.data)
        kind = text_or_empty(fields.get("type")) or event.name
        if kind in _TEXTS:
            self._texts.append(text_or_empty(fields.get("delta")))
        elif kind == "response.output_item.done":
            self._items.append(fields.get("item"))
        elif kind in _LAST:
            self._last = as_object(fields.get("response"), "`response`")
            return EventRole(ends=True)
        elif kind in {"error", "response.failed"}:
            inner = fields.get("response")
            failed = inner if isinstance(inner, dict) else fields
            said = error_text(write_json(failed.get("error") or failed))
            return EventRole(ends=True, error=said or "no reason given")
        return EventRole()

    def reply(self) -> ModelReply:
        if self._last is None:
            raise WireError("a stream that broke off")
        if self._last.get("output") is None:
            return reply_in({**self._last, "output": self._items})
        return reply_in(self._last)

    def so_far(self) -> ModelReply:
        return ModelReply(text="".join(self._texts), stop=StopReason.OTHER)


def encode_stream(
    reply: ModelReply, request: ModelRequest, _fields: JsonObject
) -> Iterator[SseEvent]:
    """Write a reply as events; see `StreamFormat`."""
    numbers = count()

    def event(kind: str, **fields: JsonValue) -> SseEvent:
        body: JsonObject = {"type": kind, "sequence_number": next(numbers), **fields}
        return SseEvent(kind, write_text(body))

    whole = reply_out(reply, request)
    begun: JsonObject = {**whole, "status": "in_progress", "output": [], "usage": None}
    begun["incomplete_details"] = None
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    for index, item in enumerate(output_out(reply)):
        is_call = item["type"] == "function_call"
        empty: JsonObject = {"arguments": ""} if is_call else {"content": []}
        started: JsonObject = {**item, **empty, "status": "in_progress"}
        yield event("response.output_item.added", output_index=index, item=started)
        for kind, fields in _call(item) if is_call else _message(item):
            yield event(kind, item_id=item["id"], output_index=index, **fields)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event(f"response.{whole['status']}", response=whole)


def _call(item: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Give the events between the beginning and the end of a call."""
    arguments = text_or_empty(item["arguments"])
    for piece in pieces_of(arguments):
        yield "response.function_call_arguments.delta", {"delta": piece}
    done: JsonObject = {"arguments": arguments, "name": item["name"]}
    yield "response.function_call_arguments.done", done


def _message(item: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Give the events between the beginning and the end of a message."""
    content = item["content"]
    part = as_object(content[0] if isinstance(content, list) else None, "a part")
    is_refusal = part["type"] == "refusal"
    key = "refusal" if is_refusal else "text"
    kind = "response.refusal" if is_refusal else "response.output_text"
    place: JsonObject = {"content_index": 0}
    extra: JsonObject = place if is_refusal else {**place, "logprobs": []}
    yield "response.content_part.added", {**place, "part": {**part, key: ""}}
    for piece in pieces_of(part[key]):
        yield f"{kind}.delta", {**extra, "delta": piece}
    yield f"{kind}.done", {**extra, key: part[key]}
    yield "response.content_part.done", {**place, "part": part}


def encode_stream_error(message: str) -> SseEvent:
    """Write an error; see `StreamFormat`.

    The documented event has its fields at the top; the official SDK raises for the inner ones.
    """
    error: JsonObject = {"code": "server_error", "message": message, "param": None}
    event: JsonObject = {"type": "error", "sequence_number": 0, **error}
    inner: JsonObject = {"type": "server_error", **error}
    return SseEvent("error", write_json({**event, "error": inner}).decode())
