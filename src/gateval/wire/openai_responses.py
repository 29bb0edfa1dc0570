"""OpenAI Responses, the format that OpenAI's newer SDKs and frameworks speak by default.

Format: https://platform.openai.com/docs/api-reference/responses. A request may continue a stored
response (`previous_response_id`); who stores it is not the format's business. What names other data
of the account (conversations, prompts, files, vector stores) is refused: behind the gateway stands
a real key, and other people's data with it. Like the older format it cannot say that a tool failed.

Format: https://platform.openai.com/docs/api-reference/responses-streaming.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.strict_json import object_of, objects_of, string_of, value_at
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
    pieces_of,
    present,
    text_in,
    tool_call,
    tool_definition,
    unknown_role,
    write_json,
    write_text,
)
from gateval.wire.openai_chat import SCHEMA_MODELS, cached_in
from gateval.wire.settings import OPENAI_RESPONSES, settings_of

NO_ID = "resp_gateval"
"""The id of a response that nobody stores."""

_CLOSED = {
    "background": "asks for an answer to be fetched later, which needs an endpoint not served here",
    "conversation": "names a conversation in the provider's account, which is closed here; use "
    "`previous_response_id`",
    "prompt": "names a prompt in the provider's account, which is closed here; send its text",
}
_CUTS = {"max_output_tokens": StopReason.LENGTH, "content_filter": StopReason.REFUSAL}
_LAST = {"response.completed", "response.incomplete"}
_TEXTS = {"response.output_text.delta", "response.refusal.delta"}


class _OpenAiResponses(WireFormat):
    path = stream_path = "/responses"
    schema_models = SCHEMA_MODELS

    def request_out(self, request: ModelRequest) -> JsonObject:
        """Nothing is stored at the provider."""
        schema = self.schema_of(request)
        form: JsonObject = {"type": "json_schema", "name": "answer", "strict": True}
        return present(
            text={"format": {**form, "schema": schema}} if schema else None,
            model=request.model,
            input=[item for said in request.messages for item in _items_out(said)],
            store=False,
            previous_response_id=request.continues or None,
            tools=[_tool_out(tool) for tool in request.tools] or None,
            temperature=request.temperature,
            max_output_tokens=request.max_tokens,
        )

    def request_in(self, fields: JsonObject) -> ModelRequest:
        """What reaches into the provider's account is refused."""
        for name, why in _CLOSED.items():
            if fields.get(name):
                raise WireError(f"`{name}` {why}")
        instructions = string_of(fields, "instructions")
        system = (Message(role="system", text=instructions),) if instructions else ()
        return ModelRequest(
            model=text_in(fields, "model"),
            messages=(*system, *_messages_in(fields.get("input"))),
            tools=_tools_in(fields),
            temperature=as_number(fields.get("temperature")),
            max_tokens=as_count(fields.get("max_output_tokens")),
            settings=settings_of(fields, OPENAI_RESPONSES),
            continues=string_of(fields, "previous_response_id"),
        )

    def reply_out(self, reply: ModelReply, request: ModelRequest) -> JsonObject:
        cut = "max_output_tokens" if reply.stop is StopReason.LENGTH else None
        if reply.stop is StopReason.REFUSAL and not reply.text:
            cut = "content_filter"
        return {
            "id": reply.id or NO_ID,
            "object": "response",
            "created_at": 0,
            "status": "incomplete" if cut else "completed",
            "incomplete_details": {"reason": cut} if cut else None,
            "error": None,
            "model": reply.model or request.model,
            "output": [*_output_out(reply)],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [_tool_out(tool) for tool in request.tools],
            "previous_response_id": request.continues or None,
            "usage": None if reply.usage == Usage() else _usage_out(reply.usage),
        }

    def reply_in(self, fields: JsonObject) -> ModelReply:
        """Reasoning is no part of what was said."""
        if fields.get("error") or fields.get("status") in ("failed", "cancelled"):
            said = error_text(write_json(fields.get("error")))
            raise WireError(f"an error instead of a reply: {said or 'no reason given'}")
        if not isinstance(fields.get("output"), list):
            raise WireError("a reply without output")
        text, refusal, calls = _output_in(fields["output"])
        usage = object_of(fields, "usage")
        stop = StopReason.TOOL_CALLS if calls else StopReason.END
        if (cut := value_at(fields, "incomplete_details", "reason")) is not None:
            stop = _CUTS.get(string_of(cut), StopReason.OTHER)
        return ModelReply.of_known(
            text=text + refusal,
            tool_calls=calls,
            stop=StopReason.REFUSAL if refusal else stop,
            usage=Usage.of_known(
                input_tokens=as_count(usage.get("input_tokens")),
                output_tokens=as_count(usage.get("output_tokens")),
                cached_tokens=cached_in(usage.get("input_tokens_details")),
            ),
            model=string_of(fields, "model"),
            tier=string_of(fields, "service_tier"),
            id=string_of(fields, "id"),
        )

    def stream_reader(self, _fields: JsonObject) -> StreamReader:
        return _Reader(self.reply_in)

    def encode_stream(
        self, reply: ModelReply, request: ModelRequest, _fields: JsonObject
    ) -> Iterator[SseEvent]:
        numbers = count()

        def event(kind: str, **more: JsonValue) -> SseEvent:
            body: JsonObject = {"type": kind, "sequence_number": next(numbers), **more}
            return SseEvent(kind, write_text(body))

        whole = self.reply_out(reply, request)
        begun: JsonObject = {**whole, "status": "in_progress", "output": [], "usage": None}
        begun["incomplete_details"] = None
        yield event("response.created", response=begun)
        yield event("response.in_progress", response=begun)
        for index, item in enumerate(_output_out(reply)):
            is_call = item["type"] == "function_call"
            empty: JsonObject = {"arguments": ""} if is_call else {"content": []}
            started: JsonObject = {**item, **empty, "status": "in_progress"}
            yield event("response.output_item.added", output_index=index, item=started)
            for kind, more in _call_events(item) if is_call else _message_events(item):
                yield event(kind, item_id=item["id"], output_index=index, **more)
            yield event("response.output_item.done", output_index=index, item=item)
        yield event(f"response.{whole['status']}", response=whole)

    def encode_stream_error(self, message: str) -> SseEvent:
        """The documented event has its fields at the top; the official SDK raises for the inner
        ones.
        """
        error: JsonObject = {"code": "server_error", "message": message, "param": None}
        event: JsonObject = {"type": "error", "sequence_number": 0, **error}
        inner: JsonObject = {"type": "server_error", **error}
        return SseEvent("error", write_json({**event, "error": inner}).decode())


openai_responses = _OpenAiResponses()


def _items_out(message: Message) -> Iterator[JsonObject]:
    """Give the input items that a message is written as."""
    if message.role == "tool":
        yield {
            "type": "function_call_output",
            "call_id": message.tool_call_id or "",
            "output": message.text,
        }
        return
    if message.parts:
        yield {"role": message.role, "content": [_part_out(part) for part in message.parts]}
    elif message.text or not message.tool_calls:
        yield {"role": message.role, "content": message.text}
    for call in message.tool_calls:
        yield _call_out(call)


def _part_out(part: str | MessageFile) -> JsonObject:
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    if part.is_image:
        return {"type": "input_image", "image_url": part.url, "detail": "auto"}
    return {"type": "input_file", "filename": part.name, "file_data": part.url}


def _call_out(call: ToolCall) -> JsonObject:
    """Return a tool call as an item; its arguments are text."""
    return {
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": write_text(call.arguments) if call.raw is None else call.raw,
    }


def _tool_out(tool: ToolDefinition) -> JsonObject:
    fields: JsonObject = {"type": "function", "name": tool.name, "parameters": tool.input_schema}
    return {**fields, **present(strict=False, description=tool.description or None)}


def _messages_in(items: JsonValue) -> tuple[Message, ...]:
    """Read the input of a request. Raises `WireError`.

    What one reply said stands in several items (text, calls); they become one message again.
    """
    if isinstance(items, str):
        return (Message(role="user", text=items),)
    messages: list[Message] = []
    for item in as_list(items, "`input`"):
        message = _message_in(as_object(item, "an item of `input`"))
        if message is None:
            continue
        last = messages[-1] if messages else None
        if last is not None and last.role == message.role == "assistant":
            messages[-1] = last.replace(
                text=last.text + message.text, tool_calls=(*last.tool_calls, *message.tool_calls)
            )
        else:
            messages.append(message)
    return tuple(messages)


def _message_in(item: JsonObject) -> Message | None:
    """Read one item; None for what is no part of the conversation, such as reasoning."""
    kind = string_of(item, "type") or ("message" if "role" in item else "item_reference")
    if kind == "message":
        return _spoken(item)
    if kind == "item_reference":
        raise WireError(
            "`item_reference` names an item stored in the provider's account, which this gateway "
            "keeps closed; send the item itself, or `previous_response_id`"
        )
    if kind.endswith("_call"):
        return Message(role="assistant", tool_calls=(_call_in(item),))
    if kind.endswith("_call_output"):
        output = item.get("output")
        text = content_text(output, "`output`") if isinstance(output, str | list) else ""
        return Message(
            role="tool",
            text=text or (write_text(output) if isinstance(output, dict) else ""),
            tool_call_id=string_of(item, "call_id"),
        )
    return None


def _spoken(item: JsonObject) -> Message:
    role, content = as_text(item.get("role"), "the role of a message"), item.get("content")
    if role == "assistant":
        return Message(role="assistant", text=content_text(content, "`content`", separator=""))
    if role in {"system", "developer"}:
        return Message(role="system", text=content_text(content, "`content`"))
    if role == "user":
        return Message(role="user", text=content_text(content, "`content`"))
    raise unknown_role(role)


def _call_in(item: JsonObject) -> ToolCall:
    """Read a call of a function, a custom tool, or one of the provider's own tools."""
    kind = string_of(item, "type")
    name = item.get("name") or kind.removesuffix("_call")
    given = next((item[key] for key in ("arguments", "input", "action") if key in item), None)
    other = kind not in {"function_call", "custom_tool_call"}
    return tool_call(item.get("call_id") or item.get("id"), name, given, by_provider=other)


def _output_in(items: JsonValue) -> tuple[str, str, tuple[ToolCall, ...]]:
    """Return what a reply said, what it refused in words, and which tools it called."""
    text = refusal = ""
    calls = []
    for each in as_list(items, "`output`"):
        item = as_object(each, "an item of `output`")
        kind = string_of(item, "type")
        if kind == "message":
            for fields in objects_in(item, "content", "a part of `content`"):
                text += string_of(fields, "text")
                refusal += string_of(fields, "refusal")
        elif kind.endswith("_call"):
            calls.append(_call_in(item))
    return text, refusal, tuple(calls)


def _tools_in(fields: JsonObject) -> tuple[ToolDefinition, ...]:
    """Read the tools of a request: those of namespaces, and those that a search has found, too.

    Raises `WireError`.
    """
    found = objects_of(fields, "input")
    searches = [item for item in found if item.get("type") == "tool_search_output"]
    tools: list[JsonObject] = []
    for source in (fields, *searches):
        for one in _tools(source):
            tools += _tools(one) if one.get("type") == "namespace" else [one]
    return tuple(
        tool_definition(
            one.get("name", string_of(one, "type") or "function"),
            one,
            one.get("parameters"),
        )
        for one in tools
    )


def _tools(source: JsonObject) -> list[JsonObject]:
    return objects_in(source, "tools", "a tool")


def _output_out(reply: ModelReply) -> list[JsonObject]:
    """Return the items of a reply: what it said, then its calls."""
    items: list[JsonObject] = []
    base = reply.id or NO_ID
    if reply.text or not reply.tool_calls:
        part: JsonObject = {"type": "output_text", "text": reply.text, "annotations": []}
        if reply.stop is StopReason.REFUSAL:
            part = {"type": "refusal", "refusal": reply.text}
        message: JsonObject = {"type": "message", "id": f"msg_{base}", "role": "assistant"}
        items.append({**message, "status": "completed", "content": [part]})
    for number, call in enumerate(reply.tool_calls, start=1):
        items.append({"id": f"fc_{base}_{number}", "status": "completed", **_call_out(call)})
    return items


def _usage_out(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total,
    }


class _Reader(StreamReader):
    """Waits for the whole response."""

    end = "[DONE]"

    def __init__(self, reply_in: Callable[[JsonObject], ModelReply]) -> None:
        super().__init__(reply_in)
        self._texts: list[str] = []
        self._items: list[JsonValue] = []
        self._last: JsonObject | None = None

    def _take(self, fields: JsonObject, event: SseEvent) -> EventRole:
        kind = string_of(fields, "type") or event.name
        if kind in _TEXTS:
            self._texts.append(string_of(fields, "delta"))
        elif kind == "response.output_item.done":
            self._items.append(fields.get("item"))
        elif kind in _LAST:
            self._last = object_in(fields, "response")
            return EventRole(ends=True)
        elif kind in {"error", "response.failed"}:
            inner = fields.get("response")
            failed = inner if isinstance(inner, dict) else fields
            said = error_text(write_json(failed.get("error") or failed))
            return EventRole(ends=True, error=said or "no reason given")
        return EventRole()

    def so_far(self) -> ModelReply:
        return ModelReply(text="".join(self._texts), stop=StopReason.OTHER)

    def _whole(self) -> JsonObject | None:
        if self._last is not None and self._last.get("output") is None:
            return {**self._last, "output": self._items}
        return self._last


def _call_events(item: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Give the events between the beginning and the end of a call."""
    arguments = string_of(item["arguments"])
    for piece in pieces_of(arguments):
        yield "response.function_call_arguments.delta", {"delta": piece}
    done: JsonObject = {"arguments": arguments, "name": item["name"]}
    yield "response.function_call_arguments.done", done


def _message_events(item: JsonObject) -> Iterator[tuple[str, JsonObject]]:
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
