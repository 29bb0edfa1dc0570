"""OpenAI Chat Completions, streamed: chunks of a message, put together again.

Format: https://platform.openai.com/docs/api-reference/chat-streaming. Usage comes in a last chunk
without choices, and only for who asks for it by `stream_options.include_usage`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import ModelReply, ModelRequest, StopReason, Usage
from gateval.wire import openai_chat
from gateval.wire.base import (
    EventRole,
    WireError,
    as_count,
    as_list,
    as_object,
    decoder,
    error_text,
    pieces_of,
    read_object,
    text_or_empty,
    write_json,
    write_text,
)
from gateval.wire.openai_chat import call_out, finish_out, reply_in, usage_out
from gateval.wire.sse import SseEvent

path = openai_chat.path

_END = SseEvent("", "[DONE]")


def stream_body(fields: JsonObject) -> JsonObject:
    """Return the body with usage asked for; see `StreamFormat`."""
    options = fields.get("stream_options")
    known = options if isinstance(options, dict) else {}
    return {**fields, "stream_options": {**known, "include_usage": True}}


def asks_for_usage(fields: JsonObject) -> bool:
    """Whether a request asks for the chunk with the usage."""
    options = fields.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def stream_reader(fields: JsonObject) -> _Reader:
    """Return a reader; see `StreamFormat`."""
    return _Reader(shows_usage=asks_for_usage(fields))


class _Call:
    """A tool call that comes in pieces."""

    def __init__(self) -> None:
        self.id = ""
        self.kind = "function"
        self.name = ""
        self.arguments: list[str] = []

    def add(self, fields: JsonObject) -> None:
        self.id = text_or_empty(fields.get("id")) or self.id
        self.kind = text_or_empty(fields.get("type")) or self.kind
        inner = fields.get(self.kind)
        given = inner if isinstance(inner, dict) else {}
        self.name += text_or_empty(given.get("name"))
        self.arguments.append(text_or_empty(given.get("arguments", given.get("input"))))

    def whole(self) -> JsonObject:
        text = "arguments" if self.kind == "function" else "input"
        inner: JsonObject = {"name": self.name, text: "".join(self.arguments)}
        return {"id": self.id, "type": self.kind, self.kind: inner}


class _Reader:
    """Puts the message of the first choice together; fulfils `StreamReader`."""

    def __init__(self, *, shows_usage: bool) -> None:
        self._shows_usage = shows_usage
        self._content: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, _Call] = {}
        self._older = _Call()
        self._model = self._tier = ""
        self._finish: JsonValue = None
        self._usage: JsonValue = None
        self._done = False

    @decoder("stream")
    def read(self, event: SseEvent) -> EventRole:
        if event.data is None:
            return EventRole()
        if event.data.strip() == "[DONE]":
            self._done = True
            return EventRole(ends=True)
        fields = read_object(event.data)
        if fields.get("error"):
            return EventRole(ends=True, error=error_text(event.data.encode("utf-8", "replace")))
        self._model = text_or_empty(fields.get("model")) or self._model
        self._tier = text_or_empty(fields.get("service_tier")) or self._tier
        choices = as_list(fields.get("choices"), "`choices`")
        if isinstance(fields.get("usage"), dict):
            self._usage = fields["usage"]
            if not choices and not self._shows_usage:
                return EventRole(hidden=True)
        for item in choices:
            choice = as_object(item, "a choice")
            if choice.get("index", 0) == 0:
                self._choice(choice)
        return EventRole()

    def _choice(self, choice: JsonObject) -> None:
        self._finish = choice.get("finish_reason") or self._finish
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return
        self._content.extend(pieces_of(delta.get("content")))
        self._refusal.append(text_or_empty(delta.get("refusal")))
        for position, item in enumerate(as_list(delta.get("tool_calls"), "`tool_calls`")):
            call = as_object(item, "a tool call")
            index = as_count(call.get("index"))
            self._calls.setdefault(position if index is None else index, _Call()).add(call)
        if isinstance(delta.get("function_call"), dict):
            self._older.add({"function": delta["function_call"]})

    def reply(self) -> ModelReply:
        if not self._done and self._finish is None:
            raise WireError("a stream that broke off")
        return reply_in(self._fields())

    def so_far(self) -> ModelReply:
        return ModelReply(
            text="".join((*self._content, *self._refusal)),
            stop=StopReason.OTHER,
            model=self._model,
        )

    def _fields(self) -> JsonObject:
        message: JsonObject = {
            "content": "".join(self._content),
            "refusal": "".join(self._refusal),
            "tool_calls": [call.whole() for _, call in sorted(self._calls.items())],
        }
        if self._older.name:
            message["function_call"] = self._older.whole()["function"]
        choice: JsonObject = {"message": message, "finish_reason": self._finish}
        whole: JsonObject = {"choices": [choice], "usage": self._usage, "model": self._model}
        return {**whole, "service_tier": self._tier}


def encode_stream(
    reply: ModelReply, request: ModelRequest, fields: JsonObject
) -> Iterator[SseEvent]:
    """Write a reply as chunks; see `StreamFormat`."""
    frame: JsonObject = {
        "id": "chatcmpl-gateval",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": reply.model or request.model,
    }

    def chunk(delta: JsonObject, finish: str | None = None) -> SseEvent:
        choice: JsonObject = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return SseEvent("", write_text({**frame, "choices": [choice]}))

    yield chunk({"role": "assistant", "content": ""})
    name = "refusal" if reply.stop is StopReason.REFUSAL else "content"
    for piece in pieces_of(reply.text):
        yield chunk({name: piece})
    for index, call in enumerate(reply.tool_calls):
        yield chunk({"tool_calls": [{"index": index, **call_out(call)}]})
    yield chunk({}, finish_out(reply))
    if asks_for_usage(fields) and reply.usage != Usage():
        usage: JsonObject = {**frame, "choices": [], "usage": usage_out(reply.usage)}
        yield SseEvent("", write_text(usage))
    yield _END


def encode_stream_error(message: str) -> SseEvent:
    """Write an error; see `StreamFormat`."""
    error: JsonObject = {"message": message, "type": "api_error", "param": None, "code": None}
    return SseEvent("", write_json({"error": error}).decode())
