"""The candidate contract: what a candidate is asked, and how its answer is read. Pure.

Asked: `{"version": 1, "input": {"type", "payload"}, "prompt"}`, in a conversation with `messages`,
which end with what the user says now; and nothing that would tell which
fixture it is or what is expected.

Answered: if all that was printed is one JSON object that has the key `output`, it is read as
`{output, trace?, usage?, version?}`; any other key in it is an error, and so is what JSON readers
would read differently (a repeated key, for one). Everything else is plain text, and the whole text,
without white space at both ends, is the output.

Lenient in names, because agents have their own habits (`type` or `kind`, `arguments` or `input`)
and in further keys; strict in meaning: what cannot be read is an error, never half a trace.

A stream holds more than the answer: the question, calls and their results, in pieces between which
no text is found. Read as one text it would pass an assertion for what was asked.

The words of `command` and `stdin` are the templates that requests of servers are made of too.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Annotated, TypeVar, cast

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from gateval.candidates import bounded
from gateval.candidates.answer_streams import BrokenPieceError, StreamError, read_stream
from gateval.candidates.options import HttpResponseOptions, Response
from gateval.domain.base import JsonObject, json_text
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.strict_json import NotStrictJson, read_json
from gateval.domain.text import beginning, is_blank, quote
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import STEPS_LIMIT, StepKind, Trace, TraceBuilder
from gateval.domain.trials.trial import Answer, Claimed
from gateval.formats.templates import TemplateError
from gateval.wire.base import write_json


class ClaimError(ValueError):
    """A claim that cannot be read. `str()` of it is a clause to be put after `its answer:`."""


class _Claim(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


C = TypeVar("C", bound=_Claim)


class _Step(_Claim):
    kind: StepKind = Field(validation_alias=AliasChoices("type", "kind"))
    text: JsonValue = Field(
        default=None, validation_alias=AliasChoices("text", "content", "result", "output")
    )
    tool: str | None = Field(default=None, validation_alias=AliasChoices("tool", "name"))
    arguments: JsonObject | None = Field(
        default=None, validation_alias=AliasChoices("arguments", "input")
    )
    call_id: str | int | None = Field(
        default=None, validation_alias=AliasChoices("call_id", "callId", "id")
    )
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)


_Amount = Annotated[float, Field(ge=0, le=10**12, strict=True, allow_inf_nan=False)]
_Tokens = Annotated[int, Field(ge=0, le=10**12, strict=True)]


class _Usage(_Claim):
    input_tokens: _Tokens | None = Field(
        default=None, validation_alias=AliasChoices("input_tokens", "inputTokens", "prompt_tokens")
    )
    output_tokens: _Tokens | None = Field(
        default=None,
        validation_alias=AliasChoices("output_tokens", "outputTokens", "completion_tokens"),
    )


class _Reported(_Claim):
    cost_usd: _Amount | None = None
    duration_ms: _Amount | None = None
    llm_call_count: _Tokens | None = None


def read_steps(claim: JsonValue) -> TraceBuilder:
    """Read the steps of a claimed trace, a list of objects. Raises `ClaimError`.

    Each has `type` (or `kind`), one of the step kinds; `text` (or `content`, `result`, `output`;
    what is no text becomes canonical JSON); for a tool call `tool` (or `name`) and `arguments` (or
    `input`), and the `seconds` that it took; for its result `tool`; `call_id` (or `id`) if there is
    one.
    """
    if not isinstance(claim, list):
        raise ClaimError("`trace` is no list of steps")
    if len(claim) > STEPS_LIMIT:
        raise ClaimError(f"`trace` has {len(claim)} steps, more than {STEPS_LIMIT}")
    builder = TraceBuilder()
    for index, item in enumerate(claim):
        where = f"trace[{index}]"
        step = _validated(_Step, item, where)
        calls, text = step.kind is StepKind.TOOL_CALL, step.text or ""
        if calls and not step.tool:
            raise ClaimError(f"`{where}` is a tool call without `tool`")
        builder.add(
            step.kind,
            json_text(text),
            tool=step.tool,
            arguments=(step.arguments or {}) if calls else None,
            call_id=None if step.call_id is None else str(step.call_id),
            took=step.seconds if calls else None,
        )
    return builder


def read_usage(claim: JsonValue) -> Usage:
    """Read claimed token counts; what is not said is unknown. Raises `ClaimError`."""
    usage = _validated(_Usage, claim, "usage")
    return Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)


def read_reported(claim: JsonObject) -> tuple[float | None, Claimed]:
    """Read the dollars, the time and the model calls that an answer of AgentV reports. Raises
    `ClaimError`.
    """
    told = _validated(_Reported, claim, "")
    seconds = None if told.duration_ms is None else told.duration_ms / 1000
    return told.cost_usd, Claimed(seconds=seconds, model_calls=told.llm_call_count)


def _validated(model: type[C], claim: JsonValue, where: str) -> C:
    try:
        return model.model_validate(claim)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        path = ".".join((*filter(None, (where,)), *(str(part) for part in first["loc"])))
        raise ClaimError(f"`{path}`: {first['msg'][:1].lower()}{first['msg'][1:]}")


CONTRACT_VERSION = 1

KEYS = ("output", "trace", "usage", "version")


@dataclass(frozen=True)
class ProgramAnswer:
    """The answer of a candidate: its output, never blank, and its claims about the way there."""

    output: str
    trace: Trace | None = None
    usage: Usage = field(default_factory=Usage)
    claimed: Claimed = field(default_factory=Claimed)


def question(asked: FixtureInput) -> JsonObject:
    """Return what a candidate is told of a fixture."""
    told: JsonObject = {
        "version": CONTRACT_VERSION,
        "input": {"type": asked.type.value, "payload": asked.payload},
        "prompt": asked.prompt,
    }
    if asked.messages:
        told["messages"] = [message.as_json() for message in asked.messages]
    return told


def agent_values(agent: AgentDefinition) -> JsonObject:
    """Return what templates can name of an agent: its name, the first model's id, its prompt, and
    the file that defines it, seen from where it works.
    """
    told: JsonObject = {"name": agent.name, "system": agent.system}
    if agent.models:
        told["model"] = agent.models[0].partition("/")[2]
    if agent.file:
        told["file"] = posixpath.relpath(agent.file, agent.cwd or ".")
    return {"agent": told}


def template_values(
    asked: FixtureInput, playground: str = "", agent: AgentDefinition | None = None
) -> JsonObject:
    """Return what templates can name: the question, `messages` in any case, the path of the trial's
    playground if it has one, and the agent.
    """
    alone: list[JsonValue] = [{"role": "user", "content": asked.prompt}]
    at: JsonObject = {"playground": playground} if playground else {}
    of_agent = agent_values(agent) if agent is not None else {}
    return {"messages": alone, **at, **of_agent, **question(asked)}


def write_question(asked: FixtureInput) -> bytes:
    """Return the question as one line of UTF-8 JSON."""
    return write_json(question(asked)) + b"\n"


def read_answer(printed: bytes) -> ProgramAnswer:
    """Read what a candidate printed; bytes that are no UTF-8 become U+FFFD. Raises `ClaimError`."""
    text = printed.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    if is_blank(text):
        raise ClaimError("it is empty")
    document = object_in(text, {"output"})
    if document is None:
        return ProgramAnswer(output=text)
    for key in document:
        if key not in KEYS:
            known = ", ".join(KEYS)
            raise ClaimError(f"it has the unknown key `{key[:80]}`; known are {known}")
    if document.get("version", CONTRACT_VERSION) != CONTRACT_VERSION:
        raise ClaimError(f"`version` is not {CONTRACT_VERSION}")
    trace, usage = document.get("trace"), document.get("usage")
    return claimed_answer(document["output"], "`output`", trace, usage)


def object_in(text: str, keys: AbstractSet[str]) -> JsonObject | None:
    """Return the JSON object that a text is, if it has one of these keys; None for plain text.
    Raises `ClaimError` for one that JSON readers would read differently.
    """
    if not text.startswith("{"):
        return None
    try:
        loose = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(loose, dict) or not loose.keys() & keys:
        return None
    try:
        strict = read_json(text)
    except NotStrictJson as error:
        raise ClaimError(f"it is ambiguous JSON: {error}")
    return cast("JsonObject", strict)


def claimed_answer(
    output: JsonValue, what: str, trace: JsonValue, usage: JsonValue
) -> ProgramAnswer:
    """Return an answer with its claims, each None where nothing is claimed. `what` names the output
    in a sentence. Raises `ClaimError`.
    """
    claimed = Usage() if usage is None else read_usage(usage)
    said = said_output(output, what)
    if trace is None:
        return ProgramAnswer(said, usage=claimed)
    steps = read_steps(trace).steps()
    return ProgramAnswer(said, Trace(steps=steps, source="candidate", usage=claimed), claimed)


def said_output(output: JsonValue, what: str) -> str:
    """Return a claimed output as text; what is no text becomes canonical JSON. `what` names it in a
    sentence. Raises `ClaimError` for one that is blank.
    """
    text = json_text(output)
    if output is None or is_blank(text):
        raise ClaimError(f"{what} is empty")
    return text


def answer_from(said: ProgramAnswer, recorded: Trace | None, seconds: float) -> Answer:
    """Return the answer; the gateway's trace wins over the candidate's claims."""
    trace, usage = said.trace, said.usage
    if recorded is not None:
        trace, usage = recorded, recorded.usage
    return Answer(
        output=said.output, trace=trace, usage=usage, seconds=seconds, claimed=said.claimed
    )


_EVENTS = "server-sent events (`data: …`)"
_PARTS = 'a data stream of the AI SDK (`0:"…"`)'
_LINES = "one JSON value per line"
_JOINED = "JSON objects one behind the other"
_BINARY = "an event stream of AWS"

_OF_LINES = (
    "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonl",
    "application/jsonlines", "application/x-jsonlines", "application/json-lines",
    "application/x-json-stream", "application/stream+json", "application/json-seq", "text/jsonl",
    "text/x-ndjson",
)  # fmt: skip
_DECLARED: Mapping[str, str] = {
    "text/event-stream": _EVENTS,
    "application/vnd.amazon.eventstream": _BINARY,
    **dict.fromkeys(_OF_LINES, _LINES),
}
_LOOKED_AT = 50
"""Lines of a body by which it is told."""

_SURE = 3
"""So many lines of the AI SDK one after the other are no accident."""

_BREAK = re.compile(r"\r\n|\r|\n")
_FIELD = re.compile(r"(?:data|event|id|retry)(?::|$)|:")
_PART = re.compile(r"([0-9a-k]):(.*)")
_TEXTS, _LISTS = frozenset("03g"), frozenset("28")

_SERVER = (
    "Say which kind it is with `response.stream` (sse, ndjson, aisdk, openai, anthropic, ag-ui, "
    "chatkit, langserve or a2a), or have the server answer in one piece (often `stream: false` in "
    '`request.body`), as text, as `{"output": "…"}`, or as JSON with `response.output`'
)
_PROGRAM = (
    'Have the program print its last message alone, as text, as `{"output": "…"}`, or in one JSON '
    "document with `response.output`"
)
_AGENTV = (
    'Have the program give its last message alone, as text or as `{"text": "…"}`, or all of them '
    "in one JSON document with `output_messages`"
)
ADVICE: Mapping[str, str] = {"server": _SERVER, "program": _PROGRAM, "agentv": _AGENTV}
"""What to do about a stream, by who answers."""


def refuse_stream(body: bytes, of: str, kind: str = "") -> None:
    """Raise `ClaimError` for a body that is a stream, or is declared as one by its media type. `of`
    names the advice.
    """
    lines = _BREAK.split(body.decode("utf-8", "replace").removeprefix("\ufeff"))
    written = [one for line in lines if (one := line.lstrip("\x1e").strip())]
    found = _DECLARED.get(kind, "")
    if found == _LINES and len(written) < 2:  # one document, whatever it is declared as
        return
    found = found or _told_by(lines, written)
    if found:
        raise ClaimError(f"it is a stream, {found}: it holds more than the answer. {ADVICE[of]}")


def _told_by(lines: Sequence[str], written: Sequence[str]) -> str:
    """Return what kind of stream these lines are; empty for none."""
    first = written[:_LOOKED_AT]
    if not first:
        return ""
    if _FIELD.match(first[0]):
        return _EVENTS if _are_events(lines, first) else ""
    if all(map(_is_part, first[:_SURE])):
        return _PARTS
    if len(first) > 1 and all(isinstance(_json(one), dict) for one in first[:2]):
        return _LINES
    return _JOINED if _are_joined("\n".join(written)) else ""


def _are_joined(text: str) -> bool:
    """Whether a text begins with two JSON objects, which nothing but blanks divides."""
    at = 0
    for _ in range(2):
        if not text.startswith("{", at):
            return False
        try:
            _, end = json.JSONDecoder().raw_decode(text, at)
        except (ValueError, RecursionError):
            return False
        at = end + len(text[end:]) - len(text[end:].lstrip())
    return True


def _are_events(lines: Sequence[str], first: Sequence[str]) -> bool:
    """Whether lines that begin like server-sent events are some: a single `data: 5` is a text."""
    data = [line[5:].strip() for line in first if line.startswith("data:")]
    if any(one == "[DONE]" or isinstance(_json(one), dict | list) for one in data):
        return True
    ended = len(data) > 1 or "" in lines[1:-1]
    return bool(data) and ended and all(map(_FIELD.match, first))


def _is_part(line: str) -> bool:
    """Whether a line is one of the AI SDK: what stands behind each code is of one sort, so that
    `5:30` is none.
    """
    match = _PART.fullmatch(line)
    if match is None:
        return False
    code, value = match[1], _json(match[2])
    wanted = str if code in _TEXTS else list if code in _LISTS else dict
    return isinstance(value, wanted)


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


ELSEWHERE = (
    "Anything else belongs on standard error. What it prints before it is asked is no answer: say "
    "how many lines that are in `runtime.greeting`."
)
"""What to do about lines of a program with `conversation: process` that are no answers."""


def only_line(printed: bytes, greeting: int) -> bytes:
    """Return the one line that a program printed which would go on, after those of its greeting:
    which of several is its answer nobody can say. Raises `ClaimError`.
    """
    lines = [line for line in printed.split(b"\n")[greeting:] if line.strip()]
    if len(lines) > 1:
        raise ClaimError(
            "it printed more than one line, and with `conversation: process` each answer is one. "
            f"{ELSEWHERE.removesuffix('.')}"
        )
    if greeting and not lines:
        raise ClaimError(
            f"it printed nothing after the {greeting} lines that `runtime.greeting` leaves out"
        )
    return b"".join(lines)


def read_response(paths: Response, body: bytes, kind: str | None = None) -> ProgramAnswer:
    """Read what an agent gave back. Raises `ClaimError`. `kind` is the media type that a server
    declares, empty for none; None for a program.
    """
    shown = quote(beginning(body[:400].decode("utf-8", "replace")))
    try:
        if isinstance(paths, HttpResponseOptions) and paths.stream is not None:
            if paths.stream == "aisdk" and _is_plain(body, kind):
                return claimed_answer(body.decode("utf-8", "replace").strip(), "it", None, None)
            text = read_stream(paths.stream, body, paths.output, join=paths.join)
            return claimed_answer(text, "the final message of the stream", None, None)
        refuse_stream(body, "program" if kind is None else "server", kind or "")
        if paths.output is None:
            return read_answer(body)
        document = read_json(body.decode("utf-8", "replace").removeprefix("\ufeff"))
        output = bounded.find(paths.output, document)
    except BrokenPieceError as error:
        raise ClaimError(str(error)) from None
    except (StreamError, bounded.PathError) as error:
        raise ClaimError(f"{error}: {shown}") from None
    except NotStrictJson as error:
        declared = f", declared as {quote(beginning(kind))}" if kind else ", without a Content-Type"
        described = "" if kind is None else declared
        raise ClaimError(f"it is no JSON ({error}){described}: {shown}")
    trace, usage = _claim(paths.trace, document), _claim(paths.usage, document)
    return claimed_answer(output, f"the value at `{paths.output}`", trace, usage)


def _is_plain(body: bytes, kind: str | None) -> bool:
    """Whether a server of the AI SDK sends the text alone (`toTextStreamResponse`), which its pages
    read so: declared as plain text, as its first data stream is, too, and no stream. An empty one
    is what it makes of an error.
    """
    lines = _BREAK.split(body.decode("utf-8", "replace").removeprefix("\ufeff"))
    written = [one for line in lines if (one := line.strip())]
    parts = written and (_PART.fullmatch(written[0]) or _FIELD.match(written[0]))
    return kind == "text/plain" and bool(written) and not parts


def _claim(path: str | None, document: JsonValue) -> JsonValue:
    """Return what the agent claims there; None if it claims nothing."""
    if path is None:
        return None
    try:
        return bounded.find(path, document)
    except bounded.Nothing:
        return None
    except bounded.PathError as error:
        raise ClaimError(str(error))


def write_words(
    words: tuple[str, ...],
    asked: FixtureInput,
    home: str,
    fill: Callable[[str], str] = str,
    playground: str = "",
    agent: AgentDefinition | None = None,
) -> tuple[str, ...]:
    """Return the program and its arguments for one trial.

    `{home}`, and what `fill` replaces, count only where the manifest says them. Raises
    `TemplateError` when the fixture lacks what a template names.
    """
    if not any("{" in word for word in words):
        return words
    values, budget = template_values(asked, playground, agent), bounded.Budget()
    return tuple(
        "".join(
            fill(text.replace("{home}", home)) if literal else text
            for text, literal in bounded.render_text(word, values, budget)
        )
        for word in words
    )


def write_stdin(
    source: str | None,
    asked: FixtureInput,
    playground: str = "",
    agent: AgentDefinition | None = None,
) -> bytes:
    """Return what the program reads. Raises `TemplateError`."""
    if source is None:
        return write_question(asked)
    values = template_values(asked, playground, agent)
    pieces = bounded.render_text(source, values, bounded.Budget())
    return "".join(text for text, _ in pieces).encode("utf-8", "replace")


def one_line(written: bytes) -> bytes:
    """Return what a program that goes on reads in a turn. Raises `TemplateError`."""
    line = written.rstrip(b"\n")
    if b"\n" in line:
        raise TemplateError(
            "what it reads in a turn has to be one line; write `{{ prompt | tojson }}` in `stdin`"
        )
    return line + b"\n"
