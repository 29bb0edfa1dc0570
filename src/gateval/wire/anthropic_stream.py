"""Anthropic Messages, streamed: a message whose blocks grow.

Format: https://docs.anthropic.com/en/docs/build-with-claude/streaming. Usage comes in two parts,
with the start of the message and with its end; the later one counts where both tell a number.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import ModelReply, ModelRequest, StopReason
from gateval.wire import anthropic
from gateval.wire.anthropic import call_out, reply_in, reply_out, text_block
from gateval.wire.base import (
    EventRole,
    WireError,
    as_count,
    as_object,
    decoder,
    error_text,
    pieces_of,
    read_object,
    text_or_empty,
    write_text,
)
from gateval.wire.sse import SseEvent

path = anthropic.path


def stream_body(fields: JsonObject) -> JsonObject:
    """Return the body as it is: usage comes without asking; see `StreamFormat`."""
    return fields


def stream_reader(_fields: JsonObject) -> _Reader:
    """Return a reader; see `StreamFormat`."""
    return _Reader()


class _Block:
    """A content block that grows."""

    def __init__(self, fields: JsonObject) -> None:
        self.fields = fields
        self.grown: list[str] = []

    def whole(self) -> JsonObject:
        text = "".join(self.grown)
        if self.fields.get("type") == "text":
            return {**self.fields, "text": text_or_empty(self.fields.get("text")) + text}
        # The input of a tool call is sent as pieces of JSON; the reader of blocks takes it as text.
        return {**self.fields, "input": text} if text else self.fields


class _Reader:
    """Puts the message together; fulfils `StreamReader`."""

    def __init__(self) -> None:
        self._message: JsonObject = {}
        self._blocks: dict[int, _Block] = {}
        self._usage: JsonObject = {}
        self._done = False

    @decoder("stream")
    def read(self, event: SseEvent) -> EventRole:
        if event.data is None:
            return EventRole()
        fields = read_object(event.data)
        kind = text_or_empty(fields.get("type")) or event.name
        if kind == "error":
            return EventRole(ends=True, error=error_text(event.data.encode("utf-8", "replace")))
        if kind == "message_start":
            self._message = dict(as_object(fields.get("message"), "`message`"))
            self._count(self._message.get("usage"))
        elif kind == "content_block_start":
            block = as_object(fields.get("content_block"), "`content_block`")
            self._blocks[_index(fields)] = _Block(block)
        elif kind == "content_block_delta":
            self._grow(_index(fields), as_object(fields.get("delta"), "`delta`"))
        elif kind == "message_delta":
            self._message.update(as_object(fields.get("delta"), "`delta`"))
            self._count(fields.get("usage"))
        elif kind == "message_stop":
            self._done = True
        return EventRole(ends=kind == "message_stop")

    def _grow(self, index: int, delta: JsonObject) -> None:
        if index not in self._blocks:
            raise WireError("a piece of a content block that never began")
        piece = delta.get("text", delta.get("partial_json"))
        self._blocks[index].grown.append(text_or_empty(piece))

    def _count(self, usage: JsonValue) -> None:
        known = usage if isinstance(usage, dict) else {}
        self._usage.update({name: value for name, value in known.items() if value is not None})

    def reply(self) -> ModelReply:
        if not self._done:
            raise WireError("a stream that broke off")
        return reply_in(self._fields())

    def so_far(self) -> ModelReply:
        texts = (block for block in self._blocks.values() if block.fields.get("type") == "text")
        return ModelReply(
            text="".join(text_or_empty(block.whole().get("text")) for block in texts),
            stop=StopReason.OTHER,
            model=text_or_empty(self._message.get("model")),
        )

    def _fields(self) -> JsonObject:
        content: list[JsonValue] = [block.whole() for _, block in sorted(self._blocks.items())]
        return {**self._message, "content": content, "usage": self._usage}


def _index(fields: JsonObject) -> int:
    index = as_count(fields.get("index"))
    if index is None:
        raise WireError("a content block without an index")
    return index


def encode_stream(
    reply: ModelReply, request: ModelRequest, _fields: JsonObject
) -> Iterator[SseEvent]:
    """Write a reply as events; see `StreamFormat`."""
    whole = reply_out(reply, request)
    usage = as_object(whole["usage"], "`usage`")
    start: JsonObject = {**whole, "content": [], "stop_reason": None}
    start["usage"] = {**usage, "output_tokens": None if usage["output_tokens"] is None else 0}
    yield _event("message_start", message=start)
    index = 0
    if reply.text:
        yield from _block(index, text_block(""), "text_delta", "text", reply.text)
        index += 1
    for position, call in enumerate(reply.tool_calls, start=index):
        block = call_out(call)
        given = write_text(block["input"])
        yield from _block(
            position, {**block, "input": {}}, "input_json_delta", "partial_json", given
        )
    ended: JsonObject = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=ended, usage=usage)
    yield _event("message_stop")


def _block(index: int, block: JsonObject, kind: str, key: str, text: str) -> Iterator[SseEvent]:
    """Write a block that begins as `block` and then grows by `text`, under `key`."""
    yield _event("content_block_start", index=index, content_block=block)
    for piece in pieces_of(text):
        yield _event("content_block_delta", index=index, delta={"type": kind, key: piece})
    yield _event("content_block_stop", index=index)


def _event(kind: str, **fields: JsonValue) -> SseEvent:
    return SseEvent(kind, write_text({"type": kind, **fields}))


def encode_stream_error(message: str) -> SseEvent:
    """Write an error; see `StreamFormat`."""
    return _event("error", error={"type": "api_error", "message": message})
