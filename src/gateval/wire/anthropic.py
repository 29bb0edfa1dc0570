"""Anthropic Messages.

Format: https://docs.anthropic.com/en/api/messages. What the neutral form may hold and this format
cannot is bent: every system message goes to the top, messages of one role that follow each other
become one (all results of parallel tool calls stand in one user message, as the format demands),
empty texts are left out, a missing token limit becomes `DEFAULT_MAX_TOKENS`.

Format: https://docs.anthropic.com/en/docs/build-with-claude/streaming. Usage comes in two parts,
with the start of the message and with its end; the later one counts where both tell a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.strict_json import object_of, string_of
from gateval.domain.trials.model_call import (
    Message,
    MessageFile,
    ModelReply,
    ModelRequest,
    StopReason,
    ToolCall,
    ToolDefinition,
    Usage,
)
from gateval.wire.base import (
    EventRole,
    SseEvent,
    StreamReader,
    WireError,
    WireFormat,
    as_count,
    as_list,
    as_number,
    as_object,
    as_text,
    content_text,
    error_text,
    object_in,
    objects_in,
    part_text,
    pieces_of,
    present,
    reply_id,
    text_in,
    tool_call,
    tool_definition,
    unknown_role,
    write_json,
    write_text,
)
from gateval.wire.settings import ANTHROPIC, settings_of

API_VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 4096
UNREADABLE_ARGUMENTS = "unreadable_arguments"
"""Under this name the text goes that a model sent instead of an object of arguments."""

_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}
"""Blocks in which a model calls a tool, its own, the provider's, or a remote server's."""

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


class _Anthropic(WireFormat):
    base_path = ""
    path = stream_path = "/v1/messages"
    schema_models = re.compile(r"claude-(?:opus|sonnet|haiku)-(?:4-(?:[5-9]|\d\d)(?!\d)|[5-9])")
    error_event = "error"
    error_types = {
        401: "authentication_error",
        402: "billing_error",
        403: "permission_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        504: "timeout_error",
        529: "overloaded_error",
    }

    def headers(self, key: str | None) -> dict[str, str]:
        version = {"anthropic-version": API_VERSION}
        return {"x-api-key": key, **version} if key else version

    def encode_error(self, status: int, message: str) -> bytes:
        error: JsonObject = {"type": self.error_type(status), "message": message}
        return write_json({"type": "error", "error": error})

    def request_out(self, request: ModelRequest) -> JsonObject:
        texts = [message.text for message in request.messages if message.role == "system"]
        system: list[JsonValue] = [_text_block(text) for text in texts if text]
        schema = self.schema_of(request)
        form: JsonObject = {"type": "json_schema", "schema": schema}
        return present(
            output_config={"format": form} if schema else None,
            model=request.model,
            max_tokens=DEFAULT_MAX_TOKENS if request.max_tokens is None else request.max_tokens,
            system=system or None,
            messages=_with_breakpoint(_turns_out(request.messages), request.shared_start),
            tools=[_tool_out(tool) for tool in request.tools] or None,
            temperature=request.temperature,
        )

    def request_in(self, fields: JsonObject) -> ModelRequest:
        items = objects_in(fields, "messages", "a message")
        given = fields.get("system")
        system = [given] if isinstance(given, str) else as_list(given, "`system`")
        messages = [Message(role="system", text=part_text(one, "`system`")) for one in system]
        for item in items:
            messages.extend(_messages_in(item))
        tools = objects_in(fields, "tools", "a tool")
        return ModelRequest(
            model=text_in(fields, "model"),
            messages=tuple(messages),
            tools=tuple(map(_tool_in, tools)),
            temperature=as_number(fields.get("temperature")),
            max_tokens=as_count(fields.get("max_tokens")),
            settings=settings_of(fields, ANTHROPIC),
        )

    def reply_out(self, reply: ModelReply, request: ModelRequest) -> JsonObject:
        """Unknown usage is null, as the field itself is required."""
        content: list[JsonValue] = [_text_block(reply.text)] if reply.text else []
        content += [_call_out(call) for call in reply.tool_calls]
        usage = reply.usage
        return {
            "id": f"msg_{reply_id(reply, request)}",
            "type": "message",
            "role": "assistant",
            "model": reply.model or request.model,
            "content": content,
            "stop_reason": _REASONS[reply.stop],
            "stop_sequence": None,
            "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
        }

    def reply_in(self, fields: JsonObject) -> ModelReply:
        """Reasoning blocks are no part of what was said."""
        if fields.get("type") == "error":
            said = error_text(write_json(fields))
            raise WireError(f"an error instead of a reply: {said}")
        if not isinstance(fields.get("content"), list):
            raise WireError("a reply without content")
        text, calls = _assistant_in(fields["content"])
        return ModelReply.of_known(
            text=text or string_of(fields, "stop_details", "explanation"),
            tool_calls=calls,
            stop=_STOPS.get(string_of(fields, "stop_reason"), StopReason.OTHER),
            usage=_usage_in(object_of(fields, "usage")),
            model=string_of(fields, "model"),
        )

    def stream_reader(self, _fields: JsonObject) -> StreamReader:
        return _Reader(self.reply_in)

    def encode_stream(
        self, reply: ModelReply, request: ModelRequest, _fields: JsonObject
    ) -> Iterator[SseEvent]:
        whole = self.reply_out(reply, request)
        usage = as_object(whole["usage"], "`usage`")
        start: JsonObject = {**whole, "content": [], "stop_reason": None}
        start["usage"] = {**usage, "output_tokens": None if usage["output_tokens"] is None else 0}
        yield _event("message_start", message=start)
        index = 0
        if reply.text:
            yield from _block(index, _text_block(""), "text_delta", "text", reply.text)
            index += 1
        for position, call in enumerate(reply.tool_calls, start=index):
            block = _call_out(call)
            given, empty = write_text(block["input"]), {**block, "input": {}}
            yield from _block(position, empty, "input_json_delta", "partial_json", given)
        ended: JsonObject = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield _event("message_delta", delta=ended, usage=usage)
        yield _event("message_stop")


anthropic = _Anthropic()


def _with_breakpoint(turns: list[JsonValue], shared: int) -> list[JsonValue]:
    """Return the turns with the first, if it is a text, cut where what requests share ends, and a
    breakpoint for the cache there.
    """
    first = as_object(turns[0], "a turn") if shared and turns else {}
    text = string_of(first, "content")
    if not shared < len(text):
        return turns
    start: JsonObject = {**_text_block(text[:shared]), "cache_control": {"type": "ephemeral"}}
    return [{**first, "content": [start, _text_block(text[shared:])]}, *turns[1:]]


def _turns_out(messages: tuple[Message, ...]) -> list[JsonValue]:
    """Return the conversation in alternating turns, without system messages and empty texts."""
    turns: list[tuple[str, list[JsonValue]]] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [] if message.role == "system" else _blocks(message)
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        elif blocks:
            turns.append((role, blocks))
    return [{"role": role, "content": _plain(blocks)} for role, blocks in turns]


def _blocks(message: Message) -> list[JsonValue]:
    if message.role == "tool":
        result: JsonObject = {
            "type": "tool_result",
            "tool_use_id": message.tool_call_id or "",
            "content": message.text,
        }
        return [{**result, "is_error": True} if message.is_error else result]
    if message.parts:
        return [_part_out(part) for part in message.parts if part]
    text: list[JsonValue] = [_text_block(message.text)] if message.text else []
    return text + [_call_out(call) for call in message.tool_calls]


def _part_out(part: str | MessageFile) -> JsonObject:
    if isinstance(part, str):
        return _text_block(part)
    source: JsonObject = {"type": "base64", "media_type": part.media_type, "data": part.data}
    if part.is_image:
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, "title": part.name}


def _plain(blocks: list[JsonValue]) -> JsonValue:
    """Return the short form of a message that is a single text."""
    first = blocks[0]
    alone = len(blocks) == 1 and isinstance(first, dict) and first["type"] == "text"
    return first["text"] if alone and isinstance(first, dict) else blocks


def _text_block(text: str) -> JsonObject:
    """Return a text block."""
    return {"type": "text", "text": text}


def _call_out(call: ToolCall) -> JsonObject:
    """Return a tool call as a block; its input is always an object."""
    given: JsonObject = {UNREADABLE_ARGUMENTS: call.raw} if call.raw is not None else call.arguments
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": given}


def _tool_out(tool: ToolDefinition) -> JsonObject:
    said = tool.description or None
    return present(name=tool.name, input_schema=tool.input_schema, description=said)


def _messages_in(fields: JsonObject) -> Iterator[Message]:
    """Give the neutral messages that one turn stands for. Raises `WireError`."""
    role = as_text(fields.get("role"), "the role of a message")
    content = fields.get("content")
    if role == "assistant":
        text, calls = _assistant_in(content)
        yield Message(role="assistant", text=text, tool_calls=calls)
    elif role == "system":
        yield Message(role="system", text=content_text(content, "`content`"))
    elif role == "user":
        yield from _user_in([content] if isinstance(content, str) else content)
    else:
        raise unknown_role(role)


def _user_in(content: JsonValue) -> Iterator[Message]:
    """Give a tool message for each result, and one user message for each run of other blocks."""
    texts: list[str] = []
    blocks = as_list(content, "`content`")
    for block in blocks:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            if texts:
                yield Message(role="user", text="\n".join(texts))
                texts = []
            yield Message(
                role="tool",
                text=content_text(block.get("content"), "a tool result"),
                tool_call_id=string_of(block, "tool_use_id"),
                is_error=block.get("is_error") is True,
            )
        else:
            texts.append(part_text(block, "`content`"))
    if texts or not blocks:
        yield Message(role="user", text="\n".join(texts))


def _assistant_in(content: JsonValue) -> tuple[str, tuple[ToolCall, ...]]:
    """Return what was said and which tools were called; reasoning and the like is passed over."""
    if isinstance(content, str):
        return content, ()
    text = ""
    calls = []
    for item in as_list(content, "`content`"):
        block = as_object(item, "a content block")
        if block.get("type") == "text":
            text += as_text(block.get("text"), "the text of `content`")
        elif string_of(block, "type") in _CALLS:
            other = block.get("type") != "tool_use"
            given = (block.get("id"), block.get("name"), block.get("input"))
            calls.append(tool_call(*given, by_provider=other))
    return text, tuple(calls)


def _tool_in(fields: JsonObject) -> ToolDefinition:
    """Read a tool definition; some of the provider's own tools are known by their type alone."""
    name = fields.get("name", fields.get("type"))
    return tool_definition(name, fields, fields.get("input_schema"), "input_schema")


def _usage_in(fields: JsonObject) -> Usage:
    """Read the usage; tokens written to and read from the cache are input like any other."""
    written = as_count(fields.get("cache_creation_input_tokens")) or 0
    read = as_count(fields.get("cache_read_input_tokens")) or 0
    fresh = as_count(fields.get("input_tokens"))
    return Usage.of_known(
        input_tokens=None if fresh is None else fresh + written + read,
        output_tokens=as_count(fields.get("output_tokens")),
        cached_tokens=read,
        cache_write_tokens=written,
    )


class _Block:
    """A content block that grows."""

    def __init__(self, fields: JsonObject) -> None:
        self.fields = fields
        self.grown: list[str] = []

    def whole(self) -> JsonObject:
        text = "".join(self.grown)
        if self.fields.get("type") == "text":
            return {**self.fields, "text": string_of(self.fields, "text") + text}
        # The input of a tool call is sent as pieces of JSON; the reader of blocks takes it as text.
        return {**self.fields, "input": text} if text else self.fields


class _Reader(StreamReader):
    """Puts the message together."""

    def __init__(self, reply_in: Callable[[JsonObject], ModelReply]) -> None:
        super().__init__(reply_in)
        self._message: JsonObject = {}
        self._blocks: dict[int, _Block] = {}
        self._usage: JsonObject = {}

    def _take(self, fields: JsonObject, event: SseEvent) -> EventRole:
        kind = string_of(fields, "type") or event.name
        if kind == "error":
            return self._failed(event)
        if kind == "message_start":
            self._message = dict(object_in(fields, "message"))
            self._count(self._message.get("usage"))
        elif kind == "content_block_start":
            block = object_in(fields, "content_block")
            self._blocks[_index(fields)] = _Block(block)
        elif kind == "content_block_delta":
            self._grow(_index(fields), object_in(fields, "delta"))
        elif kind == "message_delta":
            self._message.update(object_in(fields, "delta"))
            self._count(fields.get("usage"))
        self._done = self._done or kind == "message_stop"
        return EventRole(ends=kind == "message_stop")

    def _grow(self, index: int, delta: JsonObject) -> None:
        if index not in self._blocks:
            raise WireError("a piece of a content block that never began")
        self._blocks[index].grown.append(string_of(delta.get("text", delta.get("partial_json"))))

    def _count(self, usage: JsonValue) -> None:
        self._usage.update(present(**object_of(usage)))

    def so_far(self) -> ModelReply:
        texts = (block for block in self._blocks.values() if block.fields.get("type") == "text")
        return ModelReply.of_known(
            text="".join(string_of(block.whole().get("text")) for block in texts),
            stop=StopReason.OTHER,
            model=string_of(self._message, "model"),
        )

    def _whole(self) -> JsonObject | None:
        content: list[JsonValue] = [block.whole() for _, block in sorted(self._blocks.items())]
        whole: JsonObject = {**self._message, "content": content, "usage": self._usage}
        return whole if self._done else None


def _index(fields: JsonObject) -> int:
    index = as_count(fields.get("index"))
    if index is None:
        raise WireError("a content block without an index")
    return index


def _block(index: int, block: JsonObject, kind: str, key: str, text: str) -> Iterator[SseEvent]:
    """Write a block that begins as `block` and then grows by `text`, under `key`."""
    yield _event("content_block_start", index=index, content_block=block)
    for piece in pieces_of(text):
        yield _event("content_block_delta", index=index, delta={"type": kind, key: piece})
    yield _event("content_block_stop", index=index)


def _event(kind: str, **fields: JsonValue) -> SseEvent:
    return SseEvent(kind, write_text({"type": kind, **fields}))
