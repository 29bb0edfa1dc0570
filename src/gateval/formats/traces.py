"""Reads records of runs, whatever of the known formats they are in.

OpenInference and OpenLLMetry write other names for the same things; these are read too. One trace
is one run: the model call that saw most of the conversation, and the spans of tools beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pydantic import JsonValue, ValidationError

from gateval.domain.base import JsonObject, canonical_json
from gateval.domain.manifests.messages import Role, files_in, text_of
from gateval.domain.promotion import (
    NoRun,
    Recorded,
    RecordedMessage,
    RecordedToolCall,
    answered_calls,
    recorded_run,
)
from gateval.domain.results.results import Results
from gateval.domain.strict_json import (
    NotStrictJson,
    list_of,
    object_of,
    objects_of,
    read_json,
    string_of,
    value_at,
)
from gateval.domain.trials.trace import Step, StepKind
from gateval.domain.trials.trial import Side, Trial
from gateval.errors import UsageError

_ROLES = {
    "system": Role.SYSTEM, "developer": Role.SYSTEM, "user": Role.USER, "human": Role.USER,
    "assistant": Role.ASSISTANT, "ai": Role.ASSISTANT, "model": Role.ASSISTANT,
    "tool": Role.TOOL, "function": Role.TOOL,
}  # fmt: skip

_TEXTS = {"text", "output_text", "input_text"}
_SAYING = _TEXTS | {"tool_use", "tool_result", "thinking", "redacted_thinking", "reasoning"}
"""Types of parts that are text, or belong to a call of a tool."""


def is_chat(value: JsonValue) -> bool:
    """Whether this is a list of messages, or an object with one in `messages`."""
    return bool(_messages(value))


def read_chat(value: JsonValue) -> Recorded:
    """Return the run in such messages. Raises `NoRun`."""
    messages = _messages(value)
    said = [part for message in messages for part in read_message(message)]
    return recorded_run(said, string_of(value, "id"))


def _messages(value: JsonValue) -> list[JsonObject]:
    """The messages, and after them the reply to them where one stands beside."""
    if isinstance(value, dict):
        inner = list_of(value, "messages")
        replies = [*_replies(value), *_replies(value.get("response"))]
        asked = value.get("request")
        if not inner and isinstance(asked, dict):
            inner = _messages(asked)
        value = [*inner, *replies] if inner else []
    if not isinstance(value, list) or not value:
        return []
    objects = [one for one in value if isinstance(one, dict) and isinstance(one.get("role"), str)]
    return objects if len(objects) == len(value) else []


def _replies(value: JsonValue) -> Iterator[JsonObject]:
    """The message of a reply: OpenAI's `choices`, or Anthropic's message itself."""
    if not isinstance(value, dict):
        return
    choices = value.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        message = choices[0].get("message")
        if isinstance(message, dict):
            yield {"role": "assistant", **message}
    elif value.get("type") == "message" and isinstance(value.get("content"), list):
        yield value


def read_message(message: JsonObject) -> Iterator[RecordedMessage]:
    """Yield what a message says; one of Anthropic's user with results of tools is several.

    Raises `NoRun` for a file or an image, which a fixture would need beside it.
    """
    role = _ROLES.get(str(message.get("role")).lower())
    if role is None:
        raise NoRun(f"a message has the role {str(message.get('role'))[:40]!r}")
    content = message.get("content")
    blocks = objects_of(content)
    if kind := next((k for one in blocks if (k := str(one.get("type"))) not in _SAYING), ""):
        raise NoRun(f"a message holds a part of the type {kind[:40]!r}, not only text")
    text = content if isinstance(content, str) else _text(blocks)
    if role is Role.TOOL:
        call_id = str(message.get("tool_call_id") or message.get("name") or "")
        yield RecordedMessage(role=role, text=text, call_id=call_id, result=as_result(text))
        return
    yield from (_result(block) for block in blocks if block.get("type") == "tool_result")
    calls = tuple(_calls(message, blocks))
    if text or calls or not blocks:
        yield RecordedMessage(role=role, text=text, calls=calls)


def _calls(message: JsonObject, blocks: list[JsonObject]) -> Iterator[RecordedToolCall]:
    """The calls of a message as OpenAI has them, old and new, and Anthropic in its blocks."""
    if isinstance(old := message.get("function_call"), dict):
        yield _call(old, str(old.get("name", "")))
    for call in objects_of(message, "tool_calls"):
        inner = call.get("function")
        yield _call(inner if isinstance(inner, dict) else call, str(call.get("id", "")))
    for block in blocks:
        if block.get("type") == "tool_use":
            yield _call({**block, "arguments": block.get("input")}, str(block.get("id", "")))


def _result(block: JsonObject) -> RecordedMessage:
    """A block of Anthropic's with what a tool answered."""
    inner = block.get("content")
    told = _text([b for b in inner if isinstance(b, dict)]) if isinstance(inner, list) else inner
    return RecordedMessage(
        role=Role.TOOL,
        text=str(told or ""),
        call_id=str(block.get("tool_use_id", "")),
        result=as_result(told),
        is_error=block.get("is_error") is True,
    )


def _text(blocks: list[JsonObject]) -> str:
    said = [one.get("text") for one in blocks if str(one.get("type")) in _TEXTS]
    return "\n".join(text for text in said if isinstance(text, str))


def _call(named: JsonObject, call_id: str) -> RecordedToolCall:
    arguments = named.get("arguments", named.get("args"))
    read = as_json(arguments)
    tool = str(named.get("name", ""))
    if not tool:
        raise NoRun("a call in it names no tool")
    return RecordedToolCall(id=call_id, tool=tool, arguments=object_of(read))


def as_json(value: JsonValue) -> JsonValue:
    """Return what a text of JSON says, if that is an object or a list; else the value itself."""
    if isinstance(value, str) and value.strip()[:1] in {"{", "["}:
        try:
            return read_json(value)
        except NotStrictJson:
            return value
    return value


def as_result(value: JsonValue) -> JsonValue:
    """Return a tool's answer for `toolReplay`: an object only if it is given as the same text."""
    read = as_json(value)
    return read if not isinstance(value, str) or canonical_json(read) == value else value


Attributes = Mapping[str, JsonValue]


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
    yield from objects_of(_listed(tree))


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
    return {str(one.get("key")): _value(one.get("value")) for one in objects_of(written)}


def _value(typed: JsonValue) -> JsonValue:
    """OTLP's typed value as plain JSON."""
    if not isinstance(typed, dict):
        return typed
    for key, value in typed.items():
        if key == "arrayValue":
            return [_value(one) for one in objects_of(value, "values")]
        if key == "kvlistValue":
            return dict(attributes(value_at(value, "values")))
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
    scopes = _below(value, "resourceSpans", "scopeSpans")
    spans = [span for scope in scopes for span in objects_of(scope, "spans")]
    for span in sorted(spans, key=lambda one: as_number(str(one.get("startTimeUnixNano"))) or 0):
        traces.setdefault(str(span.get("traceId", "")), []).append(span)
    for name, spans in traces.items():
        try:
            yield recorded_run([*_conversation(spans)], name)
        except NoRun as error:
            yield NoRun(f"of trace {name[:40]}, {error}")


def _below(value: JsonValue, *keys: str) -> Iterator[JsonObject]:
    if not isinstance(value, dict):
        return
    if not keys:
        yield value
        return
    for inner in objects_of(value.get(keys[0])):
        yield from _below(inner, *keys[1:])


def _conversation(spans: list[JsonObject]) -> Iterator[RecordedMessage]:
    """The messages that the fullest model call saw and gave, with answers from spans of tools."""
    each = [attributes(span.get("attributes")) for span in spans]
    calls = [[*_messages_otlp(one, _INPUTS), *_messages_otlp(one, _OUTPUTS)] for one in each]
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


def _answered(
    call: RecordedToolCall, tools: list[RecordedToolCall], answered: set[str]
) -> RecordedToolCall:
    """The call with what the span of its tool says, where no message does."""
    if call.id in answered:
        return call
    for tool in tools:
        if tool.tool == call.tool and tool.id in {"", call.id}:
            tools.remove(tool)
            return tool.model_copy(update={"id": call.id, "arguments": call.arguments})
    return call


def _messages_otlp(given: Attributes, names: tuple[str, ...]) -> Iterator[RecordedMessage]:
    for name in names:
        listed = [*objects_of(as_json(given.get(name)))] or [*indexed(given, name)]
        for message in listed:
            inner = message.get("message")
            yield from _said(inner if isinstance(inner, dict) else message)
        if listed:
            return


def _said(message: JsonObject) -> Iterator[RecordedMessage]:
    """A message of any of the three conventions, in the words of chat APIs."""
    parts = message.get("parts")
    if not isinstance(parts, list):
        # OpenInference and OpenLLMetry nest calls in their own way.
        calls = [
            inner if isinstance(inner := one.get("tool_call", one), dict) else one
            for one in objects_of(message, "tool_calls")
        ]
        yield from read_message({**message, "tool_calls": [*calls]})
        return
    texts, calls = [], []
    for part in objects_of(parts):
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
                text=string_of(result),
                call_id=str(part.get("id") or ""),
                result=as_result(result),
            )
    if texts or calls:
        yield from read_message(
            {"role": message.get("role"), "content": "\n".join(texts), "tool_calls": [*calls]}
        )


def _tool(given: Attributes) -> RecordedToolCall | None:
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
    return RecordedToolCall(
        id=str(given.get("gen_ai.tool.call.id", "")),
        tool=name,
        arguments=object_of(arguments),
        answered=bool(results),
        result=as_result(results[0]) if results else None,
    )


def is_ours(value: JsonValue) -> bool:
    """Whether this is a trial, or the results of a run."""
    return isinstance(value, dict) and (
        value.get("version") == "results.v1" or {"key", "outcome"} <= value.keys()
    )


def read_ours(value: JsonValue) -> Iterator[Recorded | NoRun]:
    """Yield the first trial on head of each fixture, or the one trial that this is."""
    try:
        if isinstance(value, dict) and value.get("version") == "results.v1":
            yield from _of_results(Results.model_validate(value))
        else:
            yield _of_trial(Trial.model_validate(value))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        yield NoRun(f"it is not as this version of Gateval writes it ({where})")
    except NoRun as error:
        yield error


def _of_results(results: Results) -> Iterator[Recorded | NoRun]:
    run = results.info.run
    for trial in results.trials:
        if trial.key.side is not Side.HEAD or trial.key.repetition != 1:
            continue
        fixture = results.plan.eval(trial.key.eval).fixture(trial.key.fixture)
        try:
            contents = (*(one.content for one in fixture.input.messages), *fixture.turns)
            if any(any(files_in(content)) for content in contents):
                said = "what came in has files, which its record does not hold"
                raise NoRun(f"of {fixture.name}, {said}")  # noqa: TRY301 - as for each trial
            found = _of_trial(trial, run)
        except NoRun as error:
            yield error
            continue
        if fixture.turns:
            steps = [step for step in trial.trace.steps if not step.refused] if trial.trace else []
            calls = tuple(answered_calls([*_said_traces(steps)]))
            turns = tuple(map(text_of, fixture.turns))
            found = found.model_copy(update={"turns": turns, "calls": calls})
        told = fixture.input.payload or fixture.input.messages or fixture.turns  # all that came in
        yield found.model_copy(update={"input": fixture.input} if told else {})


def _of_trial(trial: Trial, run: str = "") -> Recorded:
    key = trial.key
    name = "/".join(part for part in (run, key.eval, f"{key.fixture}#{key.repetition}") if part)
    if trial.output is None or trial.trace is None:
        raise NoRun(f"of {name}, the agent gave no answer")
    if trial.output_truncated or any(step.truncated for step in trial.trace.steps):
        raise NoRun(f"of {name}, texts were cut when it was stored")
    steps = [step for step in trial.trace.steps if not step.refused]
    found = recorded_run([*_said_traces(steps)], name)
    side = " on base" if key.side is Side.BASE else ""
    failed = "" if trial.passed else f"did not pass ({trial.outcome})"
    told = {"side": key.side.value, "failed": failed, "fixture": f"{key.fixture}{side}"}
    return found.model_copy(update={"output": trial.output, **told})


def _said_traces(steps: list[Step]) -> Iterator[RecordedMessage]:
    """The steps as messages; a call and its result are told by the call's id, or by order."""
    for number, step in enumerate(steps):
        call_id = step.call_id or ""
        if step.kind is StepKind.USER:
            yield RecordedMessage(role=Role.USER, text=step.text)
        elif step.kind is StepKind.ASSISTANT:
            yield RecordedMessage(role=Role.ASSISTANT, text=step.text)
        elif step.kind is StepKind.TOOL_CALL and step.tool:
            after = (
                f"step-{one.number}"
                for one in steps[number + 1 :]
                if one.kind is StepKind.TOOL_RESULT
                and one.tool in {step.tool, None}
                and not one.call_id
            )
            call_id = call_id or next(after, "")
            call = RecordedToolCall(id=call_id, tool=step.tool, arguments=step.arguments or {})
            yield RecordedMessage(role=Role.ASSISTANT, calls=(call,))
        elif step.kind is StepKind.TOOL_RESULT:
            call_id = call_id or f"step-{step.number}"
            yield RecordedMessage(
                role=Role.TOOL, text=step.text, call_id=call_id, result=as_result(step.text)
            )


LIMIT = 64 * 1024 * 1024
"""Bytes of a file of records."""

_HINT = (
    "Known are results and trials of Gateval, messages as chat APIs have them, OTLP in JSON, and "
    "one of these on each line."
)


def read_runs(data: bytes, name: str) -> Iterator[tuple[str, Recorded | NoRun]]:
    """Yield each run in `data` with where it stands, or why one there cannot be promoted.

    Raises `UsageError`, which calls the file `name`, when it is too large or of no known format.
    """
    if len(data) > LIMIT:
        raise UsageError(f"{name} has more than {LIMIT:,} bytes.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{name} is no text in UTF-8.", hint=_HINT) from None
    try:
        value = read_json(text)
    except NotStrictJson as error:
        yield from _lines(text, name, error)
        return
    found = [*_runs(value)]
    if not found:
        raise UsageError(f"{name} holds no record of a run.", hint=_HINT)
    for number, run in enumerate(found, 1):
        yield (name if len(found) == 1 else f"{name}, no. {number}"), run


def _lines(text: str, name: str, whole: NotStrictJson) -> Iterator[tuple[str, Recorded | NoRun]]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) < 2:
        raise UsageError(f"{name} is no JSON: {whole}.", hint=_HINT)
    for number, line in lines:
        where = f"{name}:{number}"
        try:
            found = [*_runs(read_json(line))]
        except NotStrictJson as error:
            yield where, NoRun(f"it is no JSON: {error}")
            continue
        yield from ((where, run) for run in found or [NoRun("it is no record of a run")])


def _runs(value: JsonValue) -> Iterator[Recorded | NoRun]:
    if is_ours(value):
        yield from read_ours(value)
    elif is_otlp(value):
        yield from read_otlp(value)
    elif is_chat(value):
        try:
            yield read_chat(value)
        except NoRun as error:
            yield error
    elif isinstance(value, list) and all(
        is_ours(one) or is_otlp(one) or is_chat(one) for one in value
    ):
        for one in value:
            yield from _runs(one)
