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
from collections.abc import Callable, Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject, digest
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
    Format,
    SseEvent,
    StreamReader,
    WireError,
    WireFormat,
    as_count,
    as_list,
    as_number,
    as_object,
    as_text,
    error_text,
    list_in,
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
from gateval.wire.settings import GEMINI, GEMINI_BESIDE, settings_of

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
"""Names of models that are nobody's own: `tunedModels/…` belong to an account."""

_OWN_CODE = "code_execution"

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


class GoogleFormat(Format):
    """What Google's formats have in common: the model stands in the address."""

    base_path = "/v1beta"
    error_types = {
        400: "INVALID_ARGUMENT",
        401: "UNAUTHENTICATED",
        403: "PERMISSION_DENIED",
        404: "NOT_FOUND",
        429: "RESOURCE_EXHAUSTED",
        503: "UNAVAILABLE",
        504: "DEADLINE_EXCEEDED",
    }

    def headers(self, key: str | None) -> dict[str, str]:
        """See `Format`."""
        return {"x-goog-api-key": key} if key else {}

    def for_model(self, fields: JsonObject, model: str) -> JsonObject:
        """See `Format`. Raises `WireError` for what is no name of a model."""
        model_id(model)
        return {key: value for key, value in fields.items() if key not in {"model", "stream"}}

    def encode_error(self, status: int, message: str) -> bytes:
        """See `Format`."""
        usual = "INVALID_ARGUMENT" if status < 500 else "INTERNAL"
        word = self.error_types.get(status, usual)
        return write_json({"error": {"code": status, "message": message, "status": word}})


class _Gemini(GoogleFormat, WireFormat):
    path = "/models/{model}:generateContent"
    stream_path = "/models/{model}:streamGenerateContent?alt=sse"
    schema_models = re.compile(r"gemini-(?:2\.5|[3-9])")

    def request_out(self, request: ModelRequest) -> JsonObject:
        model_id(request.model)
        messages = request.messages
        system: list[JsonValue] = [{"text": one.text} for one in messages if one.role == "system"]
        schema = self.schema_of(request)
        config = present(
            temperature=request.temperature,
            maxOutputTokens=request.max_tokens,
            responseMimeType="application/json" if schema else None,
            responseJsonSchema=schema,
        )
        return present(
            contents=_contents_out(messages),
            systemInstruction={"parts": system} if system else None,
            tools=_tools_out(request.tools) if request.tools else None,
            generationConfig=config or None,
        )

    def request_in(self, fields: JsonObject) -> ModelRequest:
        """More than one candidate is refused: a trace has one."""
        config = as_object(pick(fields, "generationConfig") or {}, "`generationConfig`")
        if pick(config, "candidateCount") not in (None, 1):
            raise WireError("`candidateCount` asks for several; only one can be traced, so drop it")
        system = texts_in(pick(fields, "systemInstruction"), "`systemInstruction`")
        messages = [Message(role="system", text=text) for text in system]
        messages += _contents_in(fields.get("contents"))
        return ModelRequest(
            model=text_in(fields, "model"),
            messages=tuple(messages),
            tools=tuple(_tools_in(fields.get("tools"))),
            temperature=as_number(config.get("temperature")),
            max_tokens=as_count(pick(config, "maxOutputTokens")),
            settings=_settings(config, GEMINI) + _settings(fields, GEMINI_BESIDE),
        )

    def reply_out(self, reply: ModelReply, request: ModelRequest) -> JsonObject:
        has_text = reply.text or not reply.tool_calls
        parts: list[JsonValue] = [{"text": reply.text}] if has_text else []
        parts += [_call_out(call) for call in reply.tool_calls]
        return _frame_out(parts, reply, request, ends=True)

    def reply_in(self, fields: JsonObject) -> ModelReply:
        candidates = list_in(fields, "candidates")
        blocked = pick(object_of(pick(fields, "promptFeedback")), "blockReason")
        if not candidates and not blocked:
            said = error_text(write_json(fields.get("error")))
            raise WireError(
                f"an error instead of a reply: {said}" if said else "a reply without candidates"
            )
        candidate = as_object(candidates[0], "a candidate") if candidates else {}
        text, calls = _said_in(_parts_in(as_object(candidate.get("content") or {}, "`content`")))
        stop = _STOPS.get(string_of(pick(candidate, "finishReason")), StopReason.OTHER)
        if calls and stop is StopReason.END:
            stop = StopReason.TOOL_CALLS
        return ModelReply.of_known(
            text=text,
            tool_calls=calls,
            stop=StopReason.REFUSAL if blocked else stop,
            usage=_usage_in(object_of(pick(fields, "usageMetadata"))),
            model=string_of(pick(fields, "modelVersion")),
        )

    def stream_reader(self, _fields: JsonObject) -> StreamReader:
        return _Reader(self.reply_in)

    def encode_stream(
        self, reply: ModelReply, request: ModelRequest, _fields: JsonObject
    ) -> Iterator[SseEvent]:
        for piece in pieces_of(reply.text):
            frame = _frame_out([{"text": piece}], reply, request, ends=False)
            yield SseEvent("", write_text(frame))
        calls: list[JsonValue] = [_call_out(call) for call in reply.tool_calls]
        last = _frame_out(calls or [{"text": ""}], reply, request, ends=True)
        yield SseEvent("", write_text(last))


gemini = _Gemini()


def _settings(fields: JsonObject, names: tuple[str, ...]) -> tuple[str, ...]:
    return settings_of({name: pick(fields, name) for name in names}, names)


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


def _part_text(part: JsonObject) -> str:
    """Return the text of a part, or a placeholder for what is no text."""
    if "text" in part:
        return as_text(part["text"], "the text of a part")
    data = pick(part, "inlineData") or pick(part, "fileData")
    if isinstance(data, dict):
        kind = string_of(pick(data, "mimeType")).partition("/")[0]
        return f"[{kind}]" if kind in {"image", "audio", "video"} else "[file]"
    return f"[{next(iter(part), 'nothing')[:40]}]"


def texts_in(content: JsonValue, where: str) -> list[str]:
    """Return the texts of a `Content`, or of a mere string; none for null. Raises `WireError`."""
    if content is None or isinstance(content, str):
        return [content] if content else []
    return [_part_text(part) for part in _parts_in(as_object(content, where))]


def _parts_in(content: JsonObject) -> list[JsonObject]:
    return objects_in(content, "parts", "a part")


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
            call = call.replace(id=f"call_{known}_{self._seen[known]}")
        self._waiting.setdefault(call.name, []).append(call.id)
        return call

    def result(self, fields: JsonObject) -> Message:
        name = string_of(fields, "name")
        waiting = self._waiting.get(name, [])
        given = string_of(fields, "id") or (waiting[0] if waiting else name)
        if given in waiting:
            waiting.remove(given)
        text, is_error = _result(fields.get("response"))
        return Message(role="tool", text=text, tool_call_id=given, is_error=is_error)


def _result(value: JsonValue) -> tuple[str, bool]:
    """Return the text of a result, and whether it is an error."""
    if isinstance(value, dict) and len(value) == 1:
        key, inner = next(iter(value.items()))
        if key in {"output", "result", "error"}:
            return (inner if isinstance(inner, str) else write_text(inner)), key == "error"
    return ("" if value is None else write_text(value)), False


def _contents_in(contents: JsonValue) -> Iterator[Message]:
    """Give the neutral messages of a conversation. Raises `WireError`."""
    calls = _Calls()
    for item in as_list(contents, "`contents`"):
        content = as_object(item, "a content")
        role = string_of(content, "role") or "user"
        parts = _parts_in(content)
        if role == "model":
            text, made = _said_in(parts, calls)
            yield Message(role="assistant", text=text, tool_calls=made)
        elif role in {"user", "function"}:
            yield from _user_in(parts, calls)
        else:
            raise unknown_role(role, "content")


def _user_in(parts: list[JsonObject], calls: _Calls) -> Iterator[Message]:
    """Give a tool message for each result, and one user message for each run of other parts."""
    texts: list[str] = []
    for part in parts:
        response = pick(part, "functionResponse")
        if response is None:
            texts.append(_part_text(part))
            continue
        if texts:
            yield Message(role="user", text="\n".join(texts))
            texts = []
        yield calls.result(as_object(response, "`functionResponse`"))
    if texts or not parts:
        yield Message(role="user", text="\n".join(texts))


def _said_in(
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
            own = as_object(code, "`executableCode`")
            made.append(tool_call("", _OWN_CODE, own, by_provider=True))
        elif "text" in part and part.get("thought") is not True:
            text += _part_text(part)
    return text, tuple(made)


def _call_out(call: ToolCall) -> JsonObject:
    """Return a function call as a part; its arguments are always an object."""
    given: JsonObject = call.arguments if call.raw is None else {"unreadable_arguments": call.raw}
    return {"functionCall": {"id": call.id, "name": call.name, "args": given}}


def _contents_out(messages: tuple[Message, ...]) -> list[JsonValue]:
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
    parts = text + [_call_out(call) for call in message.tool_calls]
    return parts or [{"text": ""}]


def _part_out(part: str | MessageFile) -> JsonObject:
    if isinstance(part, str):
        return {"text": part}
    return {"inlineData": {"mimeType": part.media_type, "data": part.data}}


def _tools_in(tools: JsonValue) -> Iterator[ToolDefinition]:
    """Give the functions that a request offers, and Google's own tools by their keys."""
    for item in as_list(tools, "`tools`"):
        tool = as_object(item, "a tool")
        declared = pick(tool, "functionDeclarations")
        for each in as_list(declared, "`functionDeclarations`"):
            fields = as_object(each, "a function declaration")
            schema = pick(fields, "parametersJsonSchema")
            schema = _lowered(fields.get("parameters")) if schema is None else schema
            name = as_text(fields.get("name"), "the name of a function")
            yield tool_definition(name, fields, schema)
        for key in tool:
            if key in {"codeExecution", "code_execution"}:
                yield ToolDefinition(name=_OWN_CODE)
            elif key not in {"functionDeclarations", "function_declarations"}:
                yield ToolDefinition(name=key)


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


def _tools_out(tools: tuple[ToolDefinition, ...]) -> list[JsonValue]:
    declared: list[JsonValue] = [
        present(
            name=one.name,
            parametersJsonSchema=one.input_schema,
            description=one.description or None,
        )
        for one in tools
    ]
    return [{"functionDeclarations": declared}]


def _frame_out(
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
        frame["usageMetadata"] = present(
            promptTokenCount=reply.usage.input_tokens,
            candidatesTokenCount=reply.usage.output_tokens,
            totalTokenCount=reply.usage.total,
        )
    return frame


def _usage_in(fields: JsonObject) -> Usage:
    """Read the usage; thoughts are paid for like the rest of what a model writes."""

    def total(first: str, second: str) -> int | None:
        count, more = (as_count(pick(fields, name)) for name in (first, second))
        return None if count is None and more is None else (count or 0) + (more or 0)

    return Usage.of_known(
        input_tokens=total("promptTokenCount", "toolUsePromptTokenCount"),
        output_tokens=total("candidatesTokenCount", "thoughtsTokenCount"),
        cached_tokens=as_count(pick(fields, "cachedContentTokenCount")) or 0,
    )


class _Reader(StreamReader):
    """Puts the parts of the first candidate together."""

    def __init__(self, reply_in: Callable[[JsonObject], ModelReply]) -> None:
        super().__init__(reply_in)
        self._parts: list[JsonObject] = []
        self._finish: JsonValue = None
        self._rest: JsonObject = {}

    def _take(self, fields: JsonObject, event: SseEvent) -> EventRole:
        if fields.get("error"):
            return self._failed(event)
        names = ("usageMetadata", "modelVersion", "promptFeedback")
        self._rest |= present(**{name: pick(fields, name) for name in names})
        for item in list_in(fields, "candidates"):
            candidate = as_object(item, "a candidate")
            if candidate.get("index", 0) == 0:
                self._finish = pick(candidate, "finishReason") or self._finish
                self._parts += _parts_in(as_object(candidate.get("content") or {}, "`content`"))
        return EventRole()

    def so_far(self) -> ModelReply:
        text, _ = _said_in([part for part in self._parts if isinstance(part.get("text"), str)])
        model = string_of(self._rest, "modelVersion")
        return ModelReply(text=text, stop=StopReason.OTHER, model=model)

    def _whole(self) -> JsonObject | None:
        if self._finish is None and "promptFeedback" not in self._rest:
            return None
        content: JsonObject = {"parts": [*self._parts]}
        whole: JsonObject = {"content": content, "finishReason": self._finish}
        return {**self._rest, "candidates": [whole] if self._finish else []}
