"""Google's `generateContent`, streamed: responses that each hold some parts of the reply.

Format: https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent. Server-sent
events come to who asks with `alt=sse`. Nothing follows the last one: the stream ends.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import ModelReply, ModelRequest, StopReason
from gateval.wire.base import (
    EventRole,
    WireError,
    as_list,
    as_object,
    decoder,
    error_text,
    pieces_of,
    read_object,
    text_or_empty,
    write_text,
)
from gateval.wire.gemini import call_out, frame_out, reply_in, said_in
from gateval.wire.gemini_fields import encode_error, pick
from gateval.wire.sse import SseEvent

path = "/models/{model}:streamGenerateContent?alt=sse"


def stream_body(fields: JsonObject) -> JsonObject:
    """Return the body as it is: usage comes without asking; see `StreamFormat`."""
    return fields


def stream_reader(_fields: JsonObject) -> _Reader:
    """Return a reader; see `StreamFormat`."""
    return _Reader()


class _Reader:
    """Puts the parts of the first candidate together; fulfils `StreamReader`."""

    def __init__(self) -> None:
        self._parts: list[JsonObject] = []
        self._finish: JsonValue = None
        self._rest: JsonObject = {}

    @decoder("stream")
    def read(self, event: SseEvent) -> EventRole:
        if event.data is None:
            return EventRole()
        fields = read_object(event.data)
        if fields.get("error"):
            return EventRole(ends=True, error=error_text(event.data.encode("utf-8", "replace")))
        for name in ("usageMetadata", "modelVersion", "promptFeedback"):
            given = pick(fields, name)
            if given is not None:
                self._rest[name] = given
        for item in as_list(fields.get("candidates"), "`candidates`"):
            candidate = as_object(item, "a candidate")
            if candidate.get("index", 0) == 0:
                self._candidate(candidate)
        return EventRole()

    def _candidate(self, candidate: JsonObject) -> None:
        self._finish = pick(candidate, "finishReason") or self._finish
        content = as_object(candidate.get("content") or {}, "`content`")
        for part in as_list(content.get("parts"), "`parts`"):
            self._parts.append(as_object(part, "a part"))

    def reply(self) -> ModelReply:
        if self._finish is None and "promptFeedback" not in self._rest:
            raise WireError("a stream that broke off")
        content: JsonObject = {"parts": [*self._parts]}
        whole: JsonObject = {"content": content, "finishReason": self._finish}
        return reply_in({**self._rest, "candidates": [whole] if self._finish else []})

    def so_far(self) -> ModelReply:
        texts = [part for part in self._parts if isinstance(part.get("text"), str)]
        text, _ = said_in(texts)
        model = text_or_empty(self._rest.get("modelVersion"))
        return ModelReply(text=text, stop=StopReason.OTHER, model=model)


def encode_stream(
    reply: ModelReply, request: ModelRequest, _fields: JsonObject
) -> Iterator[SseEvent]:
    """Write a reply as events; see `StreamFormat`."""
    for piece in pieces_of(reply.text):
        yield _event(frame_out([{"text": piece}], reply, request, ends=False))
    calls: list[JsonValue] = [call_out(call) for call in reply.tool_calls]
    yield _event(frame_out(calls or [{"text": ""}], reply, request, ends=True))


def _event(frame: JsonObject) -> SseEvent:
    return SseEvent("", write_text(frame))


def encode_stream_error(message: str) -> SseEvent:
    """Write an error; see `StreamFormat`."""
    return SseEvent("", encode_error(500, message).decode())
