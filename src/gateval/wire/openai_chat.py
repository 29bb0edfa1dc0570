"""OpenAI Chat Completions, spoken by OpenAI and by most compatible servers.

Format: https://platform.openai.com/docs/api-reference/chat. A limit on tokens is written as
`max_completion_tokens`, the only name that OpenAI's reasoning models accept; servers that know
only the older `max_tokens` (Ollama) leave it unread. The format cannot say that a tool failed, so
`is_error` is lost; the text of the result has to say it.

Format: https://platform.openai.com/docs/api-reference/chat-streaming. Usage comes in a last chunk
without choices, and only for who asks for it by `stream_options.include_usage`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.strict_json import object_of, string_of, value_at
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
    as_number,
    as_object,
    as_text,
    content_text,
    error_text,
    list_in,
    object_in,
    objects_in,
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
from gateval.wire.settings import OPENAI_CHAT, settings_of

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


SCHEMA_MODELS = re.compile(r"gpt-4o(?!-2024-05)|gpt-4\.[15]|gpt-[5-9]|o1(?!-mini|-preview)|o[34]")
"""From gpt-4o-2024-08-06 on (https://platform.openai.com/docs/guides/structured-outputs)."""


class _OpenAiChat(WireFormat):
    path = stream_path = "/chat/completions"
    schema_models = SCHEMA_MODELS

    def request_out(self, request: ModelRequest) -> JsonObject:
        schema = self.schema_of(request)
        form: JsonObject = {"name": "answer", "strict": True, "schema": schema}
        return present(
            response_format={"type": "json_schema", "json_schema": form} if schema else None,
            model=request.model,
            messages=[_message_out(message) for message in request.messages],
            tools=[_tool_out(tool) for tool in request.tools] or None,
            temperature=request.temperature,
            max_completion_tokens=request.max_tokens,
        )

    def request_in(self, fields: JsonObject) -> ModelRequest:
        """More than one choice (`n`) is refused: a trace has one."""
        if fields.get("n") not in (None, 1):
            raise WireError(
                "`n` asks for several choices; only one per call can be traced, so drop it"
            )
        messages = objects_in(fields, "messages", "a message")
        limit = fields.get("max_completion_tokens")
        return ModelRequest(
            model=text_in(fields, "model"),
            messages=tuple(map(_message_in, messages)),
            tools=_tools_in(fields),
            temperature=as_number(fields.get("temperature")),
            max_tokens=as_count(fields.get("max_tokens") if limit is None else limit),
            settings=settings_of(fields, OPENAI_CHAT),
        )

    def reply_out(self, reply: ModelReply, request: ModelRequest) -> JsonObject:
        refused = reply.stop is StopReason.REFUSAL
        message: JsonObject = {
            "role": "assistant",
            "content": None if refused else reply.text or (None if reply.tool_calls else ""),
            "refusal": (reply.text or None) if refused else None,
        }
        if reply.tool_calls:
            message["tool_calls"] = [_call_out(call) for call in reply.tool_calls]
        choice: JsonObject = {"index": 0, "message": message, "finish_reason": _finish_out(reply)}
        body: JsonObject = {
            **_frame("chat.completion", reply, request),
            "choices": [{**choice, "logprobs": None}],
            "system_fingerprint": None,  # OpenRouter's client insists on it
        }
        if reply.usage != Usage():
            body["usage"] = _usage_out(reply.usage)
        return body

    def reply_in(self, fields: JsonObject) -> ModelReply:
        """Of several choices the first counts."""
        choices = list_in(fields, "choices")
        if not choices:
            said = error_text(write_json(fields.get("error")))
            raise WireError(
                f"an error instead of a reply: {said}" if said else "a reply without choices"
            )
        choice = as_object(choices[0], "the first choice")
        message = object_in(choice, "message")
        calls = _calls_in(message)
        refusal = string_of(message, "refusal")
        stop = _STOPS.get(string_of(choice, "finish_reason"), StopReason.OTHER)
        if calls and stop is StopReason.END:
            stop = StopReason.TOOL_CALLS  # some compatible servers say "stop" all the same
        usage = object_of(fields, "usage")
        return ModelReply.of_known(
            text=content_text(message.get("content"), "`content`", separator="") + refusal,
            tool_calls=calls,
            stop=StopReason.REFUSAL if refusal else stop,
            usage=Usage.of_known(
                input_tokens=as_count(usage.get("prompt_tokens")),
                output_tokens=as_count(usage.get("completion_tokens")),
                cached_tokens=cached_in(usage.get("prompt_tokens_details")),
            ),
            model=string_of(fields, "model"),
            tier=string_of(fields, "service_tier"),
            fingerprint=string_of(fields, "system_fingerprint"),
        )

    def stream_body(self, fields: JsonObject) -> JsonObject:
        options = object_of(fields, "stream_options")
        return {**fields, "stream_options": {**options, "include_usage": True}}

    def stream_reader(self, fields: JsonObject) -> StreamReader:
        return _Reader(self.reply_in, shows_usage=_asks_for_usage(fields))

    def encode_stream(
        self, reply: ModelReply, request: ModelRequest, fields: JsonObject
    ) -> Iterator[SseEvent]:
        frame = _frame("chat.completion.chunk", reply, request)

        def chunk(delta: JsonObject, finish: str | None = None) -> SseEvent:
            choice: JsonObject = {"index": 0, "delta": delta, "finish_reason": finish}
            return SseEvent("", write_text({**frame, "choices": [{**choice, "logprobs": None}]}))

        yield chunk({"role": "assistant", "content": ""})
        name = "refusal" if reply.stop is StopReason.REFUSAL else "content"
        for piece in pieces_of(reply.text):
            yield chunk({name: piece})
        for index, call in enumerate(reply.tool_calls):
            yield chunk({"tool_calls": [{"index": index, **_call_out(call)}]})
        yield chunk({}, _finish_out(reply))
        if _asks_for_usage(fields) and reply.usage != Usage():
            usage: JsonObject = {**frame, "choices": [], "usage": _usage_out(reply.usage)}
            yield SseEvent("", write_text(usage))
        yield SseEvent("", "[DONE]")


openai_chat = _OpenAiChat()


def _message_out(message: Message) -> JsonObject:
    fields: JsonObject = {"role": message.role, "content": message.text}
    if message.parts:
        fields["content"] = [_part_out(part) for part in message.parts]
    if message.role == "assistant" and message.tool_calls:
        fields["content"] = message.text or None
        fields["tool_calls"] = [_call_out(call) for call in message.tool_calls]
    if message.role == "tool":
        fields["tool_call_id"] = message.tool_call_id or ""
    return fields


def _part_out(part: str | MessageFile) -> JsonObject:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if part.is_image:
        return {"type": "image_url", "image_url": {"url": part.url}}
    return {"type": "file", "file": {"filename": part.name, "file_data": part.url}}


def _call_out(call: ToolCall) -> JsonObject:
    """Return a tool call; its arguments are text."""
    arguments = write_text(call.arguments) if call.raw is None else call.raw
    function: JsonObject = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def _tool_out(tool: ToolDefinition) -> JsonObject:
    parameters, said = tool.input_schema, tool.description or None
    function = present(name=tool.name, parameters=parameters, description=said)
    return {"type": "function", "function": function}


def _finish_out(reply: ModelReply) -> str:
    """Return the reason for which a reply ended."""
    if reply.stop is StopReason.REFUSAL:
        return "stop" if reply.text else "content_filter"
    return _FINISHES[reply.stop]


def _usage_out(usage: Usage) -> JsonObject:
    """Return the usage; what is unknown is null."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
    }


def _frame(kind: str, reply: ModelReply, request: ModelRequest) -> JsonObject:
    return {
        "id": f"chatcmpl-{reply_id(reply, request)}",
        "object": kind,
        "created": 0,
        "model": reply.model or request.model,
    }


def _message_in(fields: JsonObject) -> Message:
    role = as_text(fields.get("role"), "the role of a message")
    content = fields.get("content")
    if role == "assistant":
        text = content_text(content, "`content`", separator="")
        text += string_of(fields, "refusal")
        return Message(role="assistant", text=text, tool_calls=_calls_in(fields))
    if role in {"tool", "function"}:
        # `function` is the older form, which knows the call by the function's name only.
        call_id = string_of(fields.get("tool_call_id" if role == "tool" else "name"))
        return Message(role="tool", text=content_text(content, "`content`"), tool_call_id=call_id)
    if role in {"system", "developer"}:
        return Message(role="system", text=content_text(content, "`content`"))
    if role == "user":
        return Message(role="user", text=content_text(content, "`content`"))
    raise unknown_role(role)


def _calls_in(message: JsonObject) -> tuple[ToolCall, ...]:
    """Read the tool calls of an assistant message, the older single `function_call` included."""
    calls = []
    for fields in objects_in(message, "tool_calls", "a tool call"):
        kind, text = ("custom", "input") if fields.get("type") == "custom" else _FUNCTION
        inner = object_in(fields, kind)
        calls.append(tool_call(fields.get("id"), inner.get("name"), inner.get(text)))
    if message.get("function_call") is not None:
        older = as_object(message["function_call"], "`function_call`")
        calls.append(tool_call(older.get("name"), older.get("name"), older.get("arguments")))
    return tuple(calls)


_FUNCTION = ("function", "arguments")


def _tools_in(fields: JsonObject) -> tuple[ToolDefinition, ...]:
    """Read the tools of a request, the older `functions` included."""
    definitions = [
        as_object(tool.get(string_of(tool, "type") or "function"), "a tool's definition")
        for tool in objects_in(fields, "tools", "a tool")
    ]
    definitions += objects_in(fields, "functions", "a function")
    return tuple(
        tool_definition(one.get("name"), one, one.get("parameters")) for one in definitions
    )


def cached_in(details: JsonValue) -> int:
    """Return how many tokens of the input came from the cache, as their details tell."""
    return as_count(value_at(details, "cached_tokens")) or 0


def _asks_for_usage(fields: JsonObject) -> bool:
    return value_at(fields, "stream_options", "include_usage") is True


class _Call:
    """A tool call that comes in pieces."""

    def __init__(self) -> None:
        self.id = self.name = ""
        self.kind = "function"
        self.arguments: list[str] = []

    def add(self, fields: JsonObject) -> None:
        self.id = string_of(fields, "id") or self.id
        self.kind = string_of(fields, "type") or self.kind
        given = object_of(fields.get(self.kind))
        self.name += string_of(given, "name")
        self.arguments.append(string_of(given.get("arguments", given.get("input"))))

    def whole(self) -> JsonObject:
        text = "arguments" if self.kind == "function" else "input"
        inner: JsonObject = {"name": self.name, text: "".join(self.arguments)}
        return {"id": self.id, "type": self.kind, self.kind: inner}


class _Reader(StreamReader):
    """Puts the message of the first choice together."""

    end = "[DONE]"

    def __init__(self, reply_in: Callable[[JsonObject], ModelReply], *, shows_usage: bool) -> None:
        super().__init__(reply_in)
        self._shows_usage = shows_usage
        self._content: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, _Call] = {}
        self._older = _Call()
        self._model = self._tier = ""
        self._finish: JsonValue = None
        self._usage: JsonValue = None

    def _take(self, fields: JsonObject, event: SseEvent) -> EventRole:
        if fields.get("error"):
            return self._failed(event)
        self._model = string_of(fields, "model") or self._model
        self._tier = string_of(fields, "service_tier") or self._tier
        choices = list_in(fields, "choices")
        if isinstance(fields.get("usage"), dict):
            self._usage = fields["usage"]
            if not choices and not self._shows_usage:
                return EventRole(hidden=True)
        for item in choices:
            choice = as_object(item, "a choice")
            if choice.get("index", 0) == 0:
                self._finish = choice.get("finish_reason") or self._finish
                self._delta(object_of(choice, "delta"))
        return EventRole()

    def _delta(self, delta: JsonObject) -> None:
        self._content.extend(pieces_of(delta.get("content")))
        self._refusal.append(string_of(delta, "refusal"))
        for position, item in enumerate(list_in(delta, "tool_calls")):
            call = as_object(item, "a tool call")
            index = as_count(call.get("index"))
            self._calls.setdefault(position if index is None else index, _Call()).add(call)
        if isinstance(delta.get("function_call"), dict):
            self._older.add({"function": delta["function_call"]})

    def so_far(self) -> ModelReply:
        text = "".join((*self._content, *self._refusal))
        return ModelReply(text=text, stop=StopReason.OTHER, model=self._model)

    def _whole(self) -> JsonObject | None:
        if not self._done and self._finish is None:
            return None
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
