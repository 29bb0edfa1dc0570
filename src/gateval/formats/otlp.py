"""Traces as OpenTelemetry exports them in JSON: OTLP with the names of GenAI's conventions.

OpenInference and OpenLLMetry write other names for the same things; these are read too. One trace
is one run: the model call that saw most of the conversation, and the spans of tools beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.manifests.messages import Role
from gateval.domain.promotion import NoRun, Recorded, RecordedCall, RecordedMessage, recorded_run
from gateval.formats.trace_messages import as_json, as_result, read_message

Attributes = Mapping[str, JsonValue]


def objects(value: JsonValue) -> Iterator[JsonObject]:
    """Yield the objects of a list; nothing for anything else."""
    yield from (one for one in (value if isinstance(value, list) else ()) if isinstance(one, dict))


def indexed(given: Attributes, name: str) -> Iterator[JsonObject]:
    """Messages that are spread over attributes: `NAME.0.role`, `NAME.0.tool_calls.1.name`."""
    tree: dict[str, JsonValue] = {}
    for key, value in given.items():
        if not re.match(rf"{re.escape(name)}\.\d", key):
            continue
        *path, leaf = key.removeprefix(f"{name}.").split(".")
        inner: dict[str, JsonValue] = tree
        for part in path:
            deeper = inner.setdefault(part, {})
            if not isinstance(deeper, dict):
                break
            inner = deeper
        else:
            inner[leaf] = value
    listed = _listed(tree)
    yield from objects(listed)


def _listed(value: JsonValue) -> JsonValue:
    """Objects whose keys are numbers, as lists."""
    if not isinstance(value, dict):
        return value
    inner = {key: _listed(one) for key, one in value.items()}
    numbers = {number: one for key, one in inner.items() if (number := as_number(key)) is not None}
    if numbers and len(numbers) == len(inner):
        return [numbers[number] for number in sorted(numbers)]
    return inner


def as_number(text: str) -> int | None:
    """Return a text of up to 20 digits as the number that it is; None for any other."""
    return int(text) if re.fullmatch(r"[0-9]{1,20}", text) else None


def attributes(written: JsonValue) -> Attributes:
    """Return typed attributes by their keys."""
    return {str(one.get("key")): _value(one.get("value")) for one in objects(written)}


def _value(typed: JsonValue) -> JsonValue:
    """OTLP's typed value as plain JSON."""
    if not isinstance(typed, dict):
        return typed
    for key, value in typed.items():
        if key == "arrayValue":
            return [
                _value(one)
                for one in objects(value.get("values") if isinstance(value, dict) else None)
            ]
        if key == "kvlistValue":
            return dict(attributes(value.get("values") if isinstance(value, dict) else None))
        if key == "intValue":
            whole = re.fullmatch(r"-?[0-9]{1,20}", str(value))
            return int(whole.group()) if whole else value
        return value
    return None


_INPUTS = ("gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt")
_OUTPUTS = ("gen_ai.output.messages", "llm.output_messages", "gen_ai.completion")
_TOOL_NAMES = ("gen_ai.tool.name", "tool.name", "traceloop.entity.name")
_ARGUMENTS = ("gen_ai.tool.call.arguments", "input.value", "traceloop.entity.input")
_RESULTS = ("gen_ai.tool.call.result", "output.value", "traceloop.entity.output")


def is_otlp(value: JsonValue) -> bool:
    """Whether this is an export of spans."""
    return isinstance(value, dict) and isinstance(value.get("resourceSpans"), list)


def read_otlp(value: JsonValue) -> Iterator[Recorded | NoRun]:
    """Yield the run of each trace, or why there is none, in the order in which they began."""
    traces: dict[str, list[JsonObject]] = {}
    for span in sorted(_spans(value), key=_start):
        traces.setdefault(str(span.get("traceId", "")), []).append(span)
    for name, spans in traces.items():
        try:
            yield recorded_run([*_conversation(spans)], name)
        except NoRun as error:
            yield NoRun(f"of trace {name[:40]}, {error}")


def _spans(value: JsonValue) -> Iterator[JsonObject]:
    for scope in _below(value, "resourceSpans", "scopeSpans"):
        yield from objects(scope.get("spans"))


def _below(value: JsonValue, *keys: str) -> Iterator[JsonObject]:
    if not isinstance(value, dict):
        return
    if not keys:
        yield value
        return
    for inner in objects(value.get(keys[0])):
        yield from _below(inner, *keys[1:])


def _start(span: JsonObject) -> int:
    start = str(span.get("startTimeUnixNano", "0"))
    return as_number(start) or 0


def _conversation(spans: list[JsonObject]) -> Iterator[RecordedMessage]:
    """The messages that the fullest model call saw and gave, with answers from spans of tools."""
    each = [attributes(span.get("attributes")) for span in spans]
    calls = [[*_messages(one, _INPUTS), *_messages(one, _OUTPUTS)] for one in each]
    said = max(calls, key=len, default=[])
    if not said:
        raise NoRun("no span of it holds messages of a model call; record their content")
    tools = [tool for one in each if (tool := _tool(one)) is not None]
    known = {call.id for message in said for call in message.calls}
    answered = {message.call_id for message in said if message.role is Role.TOOL}
    for message in said:
        yield message.model_copy(
            update={"calls": tuple(_answered(call, tools, answered) for call in message.calls)}
        )
    if not known and tools:
        yield RecordedMessage(role=Role.ASSISTANT, calls=tuple(tools))


def _answered(call: RecordedCall, tools: list[RecordedCall], answered: set[str]) -> RecordedCall:
    """The call with what the span of its tool says, where no message does."""
    if call.id in answered:
        return call
    for tool in tools:
        if tool.tool == call.tool and tool.id in {"", call.id}:
            tools.remove(tool)
            return tool.model_copy(update={"id": call.id, "arguments": call.arguments})
    return call


def _messages(given: Attributes, names: tuple[str, ...]) -> Iterator[RecordedMessage]:
    for name in names:
        whole = as_json(given.get(name))
        listed = [*objects(whole)] or [*indexed(given, name)]
        for message in listed:
            inner = message.get("message")
            yield from _said(inner if isinstance(inner, dict) else message)
        if listed:
            return


def _said(message: JsonObject) -> Iterator[RecordedMessage]:
    """A message of any of the three conventions, in the words of chat APIs."""
    parts = message.get("parts")
    if not isinstance(parts, list):
        yield from read_message(_as_chat(message))
        return
    texts, calls = [], []
    for part in objects(parts):
        kind = part.get("type")
        if kind == "text":
            texts.append(str(part.get("content", "")))
        elif kind == "tool_call":
            calls.append(
                {"id": part.get("id"), "name": part.get("name"), "arguments": part.get("arguments")}
            )
        elif kind == "tool_call_response":
            result = part.get("response", part.get("result"))
            yield RecordedMessage(
                role=Role.TOOL,
                text=result if isinstance(result, str) else "",
                call_id=str(part.get("id") or ""),
                result=as_result(result),
            )
    if texts or calls:
        yield from read_message(
            {"role": message.get("role"), "content": "\n".join(texts), "tool_calls": [*calls]}
        )


def _as_chat(message: JsonObject) -> JsonObject:
    """A message of OpenInference or OpenLLMetry, whose calls are nested in their own way."""
    calls = []
    for one in objects(message.get("tool_calls")):
        inner = one.get("tool_call", one)
        calls.append(inner if isinstance(inner, dict) else one)
    return {**message, "tool_calls": [*calls]}


def _tool(given: Attributes) -> RecordedCall | None:
    """The call that a span of a tool is about, None for other spans."""
    kind = given.get("gen_ai.operation.name"), given.get("openinference.span.kind")
    looped = given.get("traceloop.span.kind")
    if kind[0] != "execute_tool" and kind[1] != "TOOL" and looped != "tool":
        return None
    name = next((str(given[key]) for key in _TOOL_NAMES if key in given), "")
    if not name:
        return None
    arguments = as_json(next((given[key] for key in _ARGUMENTS if key in given), {}))
    results = [given[key] for key in _RESULTS if key in given]
    return RecordedCall(
        id=str(given.get("gen_ai.tool.call.id", "")),
        tool=name,
        arguments=arguments if isinstance(arguments, dict) else {},
        answered=bool(results),
        result=as_result(results[0]) if results else None,
    )
