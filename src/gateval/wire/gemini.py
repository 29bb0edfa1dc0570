"""Google's `generateContent`, as `google-genai` speaks it.

Format: https://ai.google.dev/api/generate-content. The address names the model, not the body; a
stream has an address of its own.

Google's models may give calls no ids, and results go by the function's name. Such a call is known
by a digest of its name and arguments, so that it is the same in the reply and in what follows.

Format: https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent. Server-sent
events come to who asks with `alt=sse`. Nothing follows the last one: the stream ends.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject, digest
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
    decoder,
    error_text,
    pieces_of,
    read_object,
    text_or_empty,
    tool_call,
    write_json,
    write_text,
)
from gateval.wire.sse import SseEvent

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
"""Names of models that are nobody's own: `tunedModels/…` belong to an account."""

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def headers(key: str | None) -> dict[str, str]:
    """Return the key in Google's header, or nothing."""
    return {"x-goog-api-key": key} if key else {}


def pick(fields: JsonObject, name: str) -> JsonValue:
    """Return the value of a key that is given in camel case, in either spelling."""
    if name in fields:
        return fields[name]
    return fields.get(re.sub(r"[A-Z]", lambda upper: f"_{upper[0].lower()}", name))


def model_id(model: str) -> str:
    """Return a model's id, which goes into the address. Raises `WireError` if it is none."""
    if not _MODEL.fullmatch(model):
        raise WireError(f'"{model[:80]}" is no name of a model of Google\'s')
    return model


def without_model(fields: JsonObject, model: str) -> JsonObject:
    """Return a body whose address names `model`. Raises `WireError`."""
    model_id(model)
    return {key: value for key, value in fields.items() if key not in {"model", "stream"}}


def part_text(part: JsonObject) -> str:
    """Return the text of a part, or a placeholder for what is no text."""
    if "text" in part:
        return as_text(part["text"], "the text of a part")
    data = pick(part, "inlineData") or pick(part, "fileData")
    if isinstance(data, dict):
        kind = text_or_empty(pick(data, "mimeType")).partition("/")[0]
        return f"[{kind}]" if kind in {"image", "audio", "video"} else "[file]"
    return f"[{next(iter(part), 'nothing')[:40]}]"


def texts_in(content: JsonValue, where: str) -> list[str]:
    """Return the texts of a `Content`, or of a mere string; none for null. Raises `WireError`."""
    if content is None or isinstance(content, str):
        return [content] if content else []
    parts = as_list(as_object(content, where).get("parts"), "`parts`")
    return [part_text(as_object(part, "a part")) for part in parts]


def joined(content: JsonValue) -> str:
    """Return the text of a `Content` as a whole. Raises `WireError`."""
    return "\n".join(texts_in(as_object(content, "`content`"), "`content`"))


def encode_error(status: int, message: str) -> bytes:
    """Write an error; see `Format`."""
    word = _STATUSES.get(status, "INVALID_ARGUMENT" if status < 500 else "INTERNAL")
    return write_json({"error": {"code": status, "message": message, "status": word}})


_RESULT_KEYS = ("output", "result")
_OWN_CODE = "code_execution"


class _Calls:
    """Gives calls without ids one, and finds for a result the call that waits for it."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._waiting: dict[str, list[str]] = {}

    def call(self, fields: JsonObject) -> ToolCall:
        call = tool_call(fields.get("id"), fields.get("name"), fields.get("args"))
        if not call.id:
            known = digest([call.name, call.raw or call.arguments])[:12]
            self._seen[known] += 1
            call = call.model_copy(update={"id": f"call_{known}_{self._seen[known]}"})
        self._waiting.setdefault(call.name, []).append(call.id)
        return call

    def result(self, fields: JsonObject) -> Message:
        name = text_or_empty(fields.get("name"))
        waiting = self._waiting.get(name, [])
        given = text_or_empty(fields.get("id")) or (waiting[0] if waiting else name)
        if given in waiting:
            waiting.remove(given)
        text, is_error = _result(fields.get("response"))
        return Message(role="tool", text=text, tool_call_id=given, is_error=is_error)


def _result(response: JsonValue) -> tuple[str, bool]:
    """Return the text of a result, and whether it is an error."""
    value = response
    if isinstance(value, dict) and len(value) == 1:
        key, inner = next(iter(value.items()))
        if key in (*_RESULT_KEYS, "error"):
            return (inner if isinstance(inner, str) else write_text(inner)), key == "error"
    return ("" if value is None else write_text(value)), False


def contents_in(contents: JsonValue) -> Iterator[Message]:
    """Give the neutral messages of a conversation. Raises `WireError`."""
    calls = _Calls()
    for item in as_list(contents, "`contents`"):
        content = as_object(item, "a content")
        role = text_or_empty(content.get("role")) or "user"
        parts = [as_object(part, "a part") for part in as_list(content.get("parts"), "`parts`")]
        if role == "model":
            text, made = said_in(parts, calls)
            yield Message(role="assistant", text=text, tool_calls=made)
        elif role in {"user", "function"}:
            yield from _user_in(parts, calls)
        else:
            raise WireError(f'a content has the unknown role "{role[:40]}"')


def _user_in(parts: list[JsonObject], calls: _Calls) -> Iterator[Message]:
    """Give a tool message for each result, and one user message for each run of other parts."""
    texts: list[str] = []
    for part in parts:
        response = pick(part, "functionResponse")
        if response is None:
            texts.append(part_text(part))
            continue
        if texts:
            yield Message(role="user", text="\n".join(texts))
            texts = []
        yield calls.result(as_object(response, "`functionResponse`"))
    if texts or not parts:
        yield Message(role="user", text="\n".join(texts))


def said_in(
    parts: list[JsonObject], calls: _Calls | None = None
) -> tuple[str, tuple[ToolCall, ...]]:
    """Return what a model said, its thoughts left out, and which functions it called."""
    calls = calls or _Calls()
    text = ""
    made: list[ToolCall] = []
    for part in parts:
        called, code = pick(part, "functionCall"), pick(part, "executableCode")
        if called is not None:
            made.append(calls.call(as_object(called, "`functionCall`")))
        elif code is not None:
            own = tool_call("", _OWN_CODE, as_object(code, "`executableCode`"))
            made.append(own.model_copy(update={"by_provider": True}))
        elif "text" in part and part.get("thought") is not True:
            text += part_text(part)
    return text, tuple(made)


def call_out(call: ToolCall) -> JsonObject:
    """Return a function call as a part; its arguments are always an object."""
    given: JsonObject = call.arguments if call.raw is None else {"unreadable_arguments": call.raw}
    return {"functionCall": {"id": call.id, "name": call.name, "args": given}}


def contents_out(messages: tuple[Message, ...]) -> list[JsonValue]:
    """Return the conversation in alternating contents, without system messages."""
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    contents: list[tuple[str, list[JsonValue]]] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "model" if message.role == "assistant" else "user"
        parts = _parts_out(message, names)
        if contents and contents[-1][0] == role:
            contents[-1][1].extend(parts)
        else:
            contents.append((role, parts))
    return [{"role": role, "parts": parts} for role, parts in contents]


def _parts_out(message: Message, names: dict[str, str]) -> list[JsonValue]:
    if message.role == "tool":
        given = message.tool_call_id or ""
        key = "error" if message.is_error else "output"
        name = names.get(given, given)
        said: JsonObject = {"id": given, "name": name, "response": {key: message.text}}
        return [{"functionResponse": said}]
    if message.parts:
        return [_part_out(part) for part in message.parts]
    text: list[JsonValue] = [{"text": message.text}] if message.text else []
    parts = text + [call_out(call) for call in message.tool_calls]
    return parts or [{"text": ""}]


def _part_out(part: str | MessageFile) -> JsonObject:
    if isinstance(part, str):
        return {"text": part}
    return {"inlineData": {"mimeType": part.media_type, "data": part.data}}


def tools_in(tools: JsonValue) -> Iterator[ToolDefinition]:
    """Give the functions that a request offers, and Google's own tools by their keys."""
    for item in as_list(tools, "`tools`"):
        tool = as_object(item, "a tool")
        declared = pick(tool, "functionDeclarations")
        for each in as_list(declared, "`functionDeclarations`"):
            yield _tool_in(as_object(each, "a function declaration"))
        for key in tool:
            if key in {"codeExecution", "code_execution"}:
                yield ToolDefinition(name=_OWN_CODE)
            elif key not in {"functionDeclarations", "function_declarations"}:
                yield ToolDefinition(name=key)


def _tool_in(fields: JsonObject) -> ToolDefinition:
    schema = pick(fields, "parametersJsonSchema")
    if schema is None:
        schema = _lowered(fields.get("parameters"))
    return ToolDefinition(
        name=as_text(fields.get("name"), "the name of a function"),
        description=text_or_empty(fields.get("description")),
        input_schema={"type": "object"} if schema is None else as_object(schema, "`parameters`"),
    )


def _lowered(schema: JsonValue) -> JsonValue:
    """Return a schema with its types as JSON Schema writes them: Google's are in capitals."""
    if isinstance(schema, list):
        return [_lowered(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value.lower() if key == "type" and isinstance(value, str) else _lowered(value)
        for key, value in schema.items()
    }


def tools_out(tools: tuple[ToolDefinition, ...]) -> list[JsonValue]:
    """Return tool definitions."""
    declared: list[JsonValue] = []
    for tool in tools:
        fields: JsonObject = {"name": tool.name, "parametersJsonSchema": tool.input_schema}
        declared.append({**fields, "description": tool.description} if tool.description else fields)
    return [{"functionDeclarations": declared}]


base_path = "/v1beta"
path = "/models/{model}:generateContent"
stream_path = "/models/{model}:streamGenerateContent?alt=sse"
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


def stream_body(fields: JsonObject) -> JsonObject:
    """Return the body as it is: usage comes without asking; see `WireFormat`."""
    return fields


def stream_reader(_fields: JsonObject) -> _Reader:
    """Return a reader; see `WireFormat`."""
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
    """Write a reply as events; see `WireFormat`."""
    for piece in pieces_of(reply.text):
        yield _event(frame_out([{"text": piece}], reply, request, ends=False))
    calls: list[JsonValue] = [call_out(call) for call in reply.tool_calls]
    yield _event(frame_out(calls or [{"text": ""}], reply, request, ends=True))


def _event(frame: JsonObject) -> SseEvent:
    return SseEvent("", write_text(frame))


def encode_stream_error(message: str) -> SseEvent:
    """Write an error; see `WireFormat`."""
    return SseEvent("", encode_error(500, message).decode())
