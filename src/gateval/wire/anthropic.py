"""Anthropic Messages.

Format: https://docs.anthropic.com/en/api/messages. What the neutral form may hold and this format
cannot is bent: every system message goes to the top, messages of one role that follow each other
become one (all results of parallel tool calls stand in one user message, as the format demands),
empty texts are left out, a missing token limit becomes `DEFAULT_MAX_TOKENS`.

Format: https://docs.anthropic.com/en/docs/build-with-claude/streaming. Usage comes in two parts,
with the start of the message and with its end; the later one counts where both tell a number.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject
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
    WireError,
    as_count,
    as_list,
    as_number,
    as_object,
    as_text,
    content_text,
    decoder,
    error_text,
    error_type,
    part_text,
    pieces_of,
    read_object,
    reply_id,
    text_or_empty,
    tool_call,
    with_model,
    write_json,
    write_text,
)
from gateval.wire.sse import SseEvent

UNREADABLE_ARGUMENTS = "unreadable_arguments"
"""Under this name the text goes that a model sent instead of an object of arguments."""

_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}
"""Blocks in which a model calls a tool, its own, the provider's, or a remote server's."""


def turns_out(messages: tuple[Message, ...]) -> list[JsonValue]:
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
    text: list[JsonValue] = [text_block(message.text)] if message.text else []
    return text + [call_out(call) for call in message.tool_calls]


def _part_out(part: str | MessageFile) -> JsonObject:
    if isinstance(part, str):
        return text_block(part)
    source: JsonObject = {"type": "base64", "media_type": part.media_type, "data": part.data}
    if part.is_image:
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, "title": part.name}


def _plain(blocks: list[JsonValue]) -> JsonValue:
    """Return the short form of a message that is a single text."""
    first = blocks[0]
    alone = len(blocks) == 1 and isinstance(first, dict) and first["type"] == "text"
    return first["text"] if alone and isinstance(first, dict) else blocks


def text_block(text: str) -> JsonObject:
    """Return a text block."""
    return {"type": "text", "text": text}


def call_out(call: ToolCall) -> JsonObject:
    """Return a tool call as a block; its input is always an object."""
    given: JsonObject = {UNREADABLE_ARGUMENTS: call.raw} if call.raw is not None else call.arguments
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": given}


def tool_out(tool: ToolDefinition) -> JsonObject:
    """Return a tool definition."""
    fields: JsonObject = {"name": tool.name, "input_schema": tool.input_schema}
    return {**fields, "description": tool.description} if tool.description else fields


def system_in(system: JsonValue) -> Iterator[Message]:
    """Give one system message for each block of the top-level system prompt."""
    blocks = [system] if isinstance(system, str) else as_list(system, "`system`")
    for block in blocks:
        yield Message(role="system", text=part_text(block, "`system`"))


def messages_in(fields: JsonObject) -> Iterator[Message]:
    """Give the neutral messages that one turn stands for. Raises `WireError`."""
    role = as_text(fields.get("role"), "the role of a message")
    content = fields.get("content")
    if role == "assistant":
        text, calls = assistant_in(content)
        yield Message(role="assistant", text=text, tool_calls=calls)
    elif role == "system":
        yield Message(role="system", text=content_text(content, "`content`"))
    elif role == "user":
        yield from _user_in([content] if isinstance(content, str) else content)
    else:
        raise WireError(f'a message has the unknown role "{role[:40]}"')


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
                tool_call_id=text_or_empty(block.get("tool_use_id")),
                is_error=block.get("is_error") is True,
            )
        else:
            texts.append(part_text(block, "`content`"))
    if texts or not blocks:
        yield Message(role="user", text="\n".join(texts))


def assistant_in(content: JsonValue) -> tuple[str, tuple[ToolCall, ...]]:
    """Return what was said and which tools were called; reasoning and the like is passed over."""
    if isinstance(content, str):
        return content, ()
    text = ""
    calls = []
    for item in as_list(content, "`content`"):
        block = as_object(item, "a content block")
        if block.get("type") == "text":
            text += as_text(block.get("text"), "the text of `content`")
        elif text_or_empty(block.get("type")) in _CALLS:
            call = tool_call(block.get("id"), block.get("name"), block.get("input"))
            is_other = block.get("type") != "tool_use"
            calls.append(call.model_copy(update={"by_provider": True}) if is_other else call)
    return text, tuple(calls)


def tool_in(fields: JsonObject) -> ToolDefinition:
    """Read a tool definition. Raises `WireError`."""
    schema = fields.get("input_schema")
    return ToolDefinition(
        # Some of the provider's own tools are known by their type alone.
        name=as_text(fields.get("name", fields.get("type")), "the name of a tool"),
        description=text_or_empty(fields.get("description")),
        input_schema={"type": "object"} if schema is None else as_object(schema, "`input_schema`"),
    )


base_path = ""
path = "/v1/messages"
stream_path = path
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
        "id": f"msg_{reply_id(reply, request)}",
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


def stream_body(fields: JsonObject) -> JsonObject:
    """Return the body as it is: usage comes without asking; see `WireFormat`."""
    return fields


def stream_reader(_fields: JsonObject) -> _Reader:
    """Return a reader; see `WireFormat`."""
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
    """Write a reply as events; see `WireFormat`."""
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
    """Write an error; see `WireFormat`."""
    return _event("error", error={"type": "api_error", "message": message})
