"""OpenAI Chat Completions, spoken by OpenAI and by most compatible servers.

Format: https://platform.openai.com/docs/api-reference/chat. A limit on tokens is written as
`max_completion_tokens`, the only name that OpenAI's reasoning models accept; servers that know
only the older `max_tokens` (Ollama) leave it unread. The format cannot say that a tool failed, so
`is_error` is lost; the text of the result has to say it.

Format: https://platform.openai.com/docs/api-reference/chat-streaming. Usage comes in a last chunk
without choices, and only for who asks for it by `stream_options.include_usage`.
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


def message_out(message: Message) -> JsonObject:
    """Return one message."""
    fields: JsonObject = {"role": message.role, "content": message.text}
    if message.parts:
        fields["content"] = [_part_out(part) for part in message.parts]
    if message.role == "assistant" and message.tool_calls:
        fields["content"] = message.text or None
        fields["tool_calls"] = [call_out(call) for call in message.tool_calls]
    if message.role == "tool":
        fields["tool_call_id"] = message.tool_call_id or ""
    return fields


def _part_out(part: str | MessageFile) -> JsonObject:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if part.is_image:
        return {"type": "image_url", "image_url": {"url": part.url}}
    return {"type": "file", "file": {"filename": part.name, "file_data": part.url}}


def call_out(call: ToolCall) -> JsonObject:
    """Return a tool call; its arguments are text."""
    arguments = write_text(call.arguments) if call.raw is None else call.raw
    function: JsonObject = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def tool_out(tool: ToolDefinition) -> JsonObject:
    """Return a tool definition."""
    function: JsonObject = {"name": tool.name, "parameters": tool.input_schema}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def message_in(item: JsonValue) -> Message:
    """Read one message. Raises `WireError`."""
    fields = as_object(item, "a message")
    role = as_text(fields.get("role"), "the role of a message")
    content = fields.get("content")
    if role == "assistant":
        text = content_text(content, "`content`", separator="")
        text += text_or_empty(fields.get("refusal"))
        return Message(role="assistant", text=text, tool_calls=calls_in(fields))
    if role in {"tool", "function"}:
        # `function` is the older form, which knows the call by the function's name only.
        call_id = text_or_empty(fields.get("tool_call_id" if role == "tool" else "name"))
        return Message(role="tool", text=content_text(content, "`content`"), tool_call_id=call_id)
    if role in {"system", "developer"}:
        return Message(role="system", text=content_text(content, "`content`"))
    if role == "user":
        return Message(role="user", text=content_text(content, "`content`"))
    raise WireError(f'a message has the unknown role "{role[:40]}"')


def calls_in(message: JsonObject) -> tuple[ToolCall, ...]:
    """Read the tool calls of an assistant message, the older single `function_call` included."""
    calls = [
        _call_in(as_object(item, "a tool call"))
        for item in as_list(message.get("tool_calls"), "`tool_calls`")
    ]
    if message.get("function_call") is not None:
        older = as_object(message["function_call"], "`function_call`")
        calls.append(tool_call(older.get("name"), older.get("name"), older.get("arguments")))
    return tuple(calls)


def _call_in(fields: JsonObject) -> ToolCall:
    if fields.get("type") == "custom":
        custom = as_object(fields.get("custom"), "`custom`")
        return tool_call(fields.get("id"), custom.get("name"), custom.get("input"))
    function = as_object(fields.get("function"), "`function`")
    return tool_call(fields.get("id"), function.get("name"), function.get("arguments"))


def tools_in(fields: JsonObject) -> tuple[ToolDefinition, ...]:
    """Read the tools of a request, the older `functions` included."""
    definitions = [
        as_object(tool.get(text_or_empty(tool.get("type")) or "function"), "a tool's definition")
        for tool in (as_object(item, "a tool") for item in as_list(fields.get("tools"), "`tools`"))
    ]
    older = as_list(fields.get("functions"), "`functions`")
    definitions += [as_object(item, "a function") for item in older]
    return tuple(_tool_in(definition) for definition in definitions)


def _tool_in(fields: JsonObject) -> ToolDefinition:
    schema = fields.get("parameters")
    return ToolDefinition(
        name=as_text(fields.get("name"), "the name of a tool"),
        description=text_or_empty(fields.get("description")),
        input_schema={"type": "object"} if schema is None else as_object(schema, "`parameters`"),
    )


base_path = "/v1"
path = "/chat/completions"
stream_path = path
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
        "id": f"chatcmpl-{reply_id(reply, request)}",
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


_END = SseEvent("", "[DONE]")


def stream_body(fields: JsonObject) -> JsonObject:
    """Return the body with usage asked for; see `WireFormat`."""
    options = fields.get("stream_options")
    known = options if isinstance(options, dict) else {}
    return {**fields, "stream_options": {**known, "include_usage": True}}


def asks_for_usage(fields: JsonObject) -> bool:
    """Whether a request asks for the chunk with the usage."""
    options = fields.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def stream_reader(fields: JsonObject) -> _Reader:
    """Return a reader; see `WireFormat`."""
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
    """Write a reply as chunks; see `WireFormat`."""
    frame: JsonObject = {
        "id": f"chatcmpl-{reply_id(reply, request)}",
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
    """Write an error; see `WireFormat`."""
    error: JsonObject = {"message": message, "type": "api_error", "param": None, "code": None}
    return SseEvent("", write_json({"error": error}).decode())
