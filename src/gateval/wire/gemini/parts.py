"""The pieces of `generateContent`: contents, function calls and tools, both ways.

Google's models may give calls no ids, and results go by the function's name. Such a call is known
by a digest of its name and arguments, so that it is the same in the reply and in what follows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject, digest
from gateval.domain.trials.model_call import Message, MessageFile, ToolCall, ToolDefinition
from gateval.wire.base import WireError
from gateval.wire.fields import as_list, as_object, as_text, text_or_empty, tool_call
from gateval.wire.gemini.fields import part_text, pick
from gateval.wire.json_text import write_text

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
