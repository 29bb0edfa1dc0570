"""Answers of servers that come as streams: which texts of one are the final message. Pure.

A stream holds more than the answer: steps, calls, what was asked. So the manifest says what it is,
and each format knows what its final message is, how it ends, and how it tells an error. One that
breaks off is no answer, nor is one of which a piece cannot be read: what stood there is not known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import JsonValue

from gateval.candidates import bounded
from gateval.domain.base import JsonObject, json_text
from gateval.domain.strict_json import (
    NotStrictJson,
    list_of,
    object_of,
    objects_of,
    read_json,
    string_of,
    value_at,
)
from gateval.domain.text import beginning, quote
from gateval.wire.base import SseReader

_DONE = "[DONE]"


class StreamError(ValueError):
    """Why a stream has no answer, as a clause."""


class BrokenPieceError(StreamError):
    """A piece of a stream that cannot be read: its number, what is wrong, and how it begins."""

    def __init__(self, item: StreamItem, why: str) -> None:
        shown = quote(beginning(item.raw))
        super().__init__(f"{item.what} {item.number} of the stream {why}: {shown}")


class StreamItem(NamedTuple):
    """One piece of a stream: the name of its event, empty for none, its value, and where it stood.
    `broken` says why it is no JSON; its value is its text then.
    """

    name: str
    value: JsonValue
    what: str = "event"
    number: int = 1
    raw: str = ""
    broken: str = ""


def read_stream(stream: str, body: bytes, path: str | None, *, join: bool) -> str:
    """Return the final message of a stream of this kind (`STREAMS`).

    `path` is the JSONPath of a text in each item, for `sse` and `ndjson`; with `join` all that it
    finds are one text, else the last is the message. An event called `error` is one. Raises
    `StreamError`.
    """
    if stream in PATHED:
        return _found(_events(body) if stream == "sse" else _lines(body), path, join=join)
    return _FORMATS[stream](_items(stream, body))


_ALSO_PLAIN = {"openai", "anthropic", "a2a"}
"""Protocols whose servers may answer with one object, or with a line of JSON for each event, as
`toReadableStream()` of the SDKs for Node does.
"""


def _items(stream: str, body: bytes) -> Iterable[StreamItem]:
    if stream == "aisdk" and re.match(rb"\s*[0-9a-z]:", body):
        return _whole(_parts(body))
    if stream in _ALSO_PLAIN and body.lstrip().startswith(b"{"):
        answer = _item("", body.decode("utf-8", "replace").strip(), "answer", 1)
        first = _item("", answer.raw.partition("\n")[0], "line", 1)
        return _whole([answer]) if first.broken or not answer.broken else _lines(body)
    return _whole(_events(_LAST.sub(rb"\g<0>data:\n", body) if stream == "langserve" else body))


_LAST = re.compile(rb"^event: ?end\r?\n", re.M)
"""How LangServe ends a stream: by an event without data, which is none to readers of events."""

_LINE_END = re.compile(r"\r?\n")
"""Other ends of lines may stand inside of JSON texts."""


def _item(name: str, text: str, what: str, number: int) -> StreamItem:
    try:
        return StreamItem(name, read_json(text), what, number, text)
    except NotStrictJson as error:
        return StreamItem(name, text, what, number, text, str(error))


def _events(body: bytes) -> Iterator[StreamItem]:
    """Yield server-sent events. What is no JSON stands as text."""
    read = SseReader().feed(body.rstrip(b"\r\n") + b"\n\n")
    told = [(event.name, event.data) for event in read if event.data is not None]
    for number, (name, data) in enumerate(told, 1):
        yield _item(name, data, "event", number)


def _lines(body: bytes) -> Iterator[StreamItem]:
    for number, line in enumerate(_LINE_END.split(body.decode("utf-8", "replace")), 1):
        text = line.lstrip("\ufeff\x1e").strip()
        item = _item("", text, "line", number)
        if text and item.broken and text != _DONE:
            raise BrokenPieceError(item, f"is no JSON ({item.broken})")
        if text:
            yield item


_CODES = {"0": "text-delta", "3": "error", "d": "finish", "e": "finish-step", "f": "start-step"}


def _parts(body: bytes) -> Iterator[StreamItem]:
    """Yield the parts of the AI SDK's first data stream (`0:"text"`) as those of its second."""
    for number, line in enumerate(_LINE_END.split(body.decode("utf-8", "replace")), 1):
        if not line.strip():
            continue
        code, _, text = line.strip().partition(":")
        read = _item("", text, "line", number)._replace(raw=line)
        if len(code) != 1 or read.broken:
            raise BrokenPieceError(read, f"is no part ({read.broken or 'it has no code'})")
        told: JsonObject = {"type": _CODES.get(code), "delta": read.value, "errorText": read.value}
        yield read._replace(value=told)


def _whole(items: Iterable[StreamItem]) -> Iterator[StreamItem]:
    """Yield the pieces of a stream that is JSON all through, but for what ends it."""
    for item in items:
        if item.broken and item.raw.strip() not in {"", _DONE}:
            raise BrokenPieceError(item, f"is no JSON ({item.broken})")
        yield item


_SIGNAL = re.compile(r"\[?[\w.:-]{0,40}\]?")
_LIKE_JSON = re.compile(r'\s*(?:\{|"|\[\s*[\[{"])')
_BAD_SIGN = re.compile(r"error|fail|abort|exception", re.I)


def _is_signal(text: str) -> bool:
    """Whether a text that is no JSON is a word such as `[DONE]` or `ping`, and tells no fault."""
    return bool(_SIGNAL.fullmatch(text)) and not _BAD_SIGN.search(text)


def _found(items: Iterable[StreamItem], path: str | None, *, join: bool) -> str:
    texts: list[str] = []
    names: set[str] = set()
    plain: list[StreamItem] = []
    for item in items:
        if item.name == "error":
            raise StreamError(_told(item.value))
        try:
            value = bounded.find(path or "$", item.value)
        except bounded.Nothing:
            if item.broken:
                plain.append(item)
            _refuse_error(item.value)
            continue
        except bounded.PathError as error:
            raise StreamError(str(error)) from None
        if value not in (None, _DONE):
            texts.append(json_text(value))
            names.add(item.name)
    for item in plain:
        meant = _LIKE_JSON.match(item.raw) or item.name in names or not names
        if meant and not _is_signal(item.raw.strip()):
            raise BrokenPieceError(item, f"is no JSON ({item.broken})")
    if not texts:
        raise StreamError(f"nothing in the stream stands at `{path or '$'}`")
    return "".join(texts) if join else texts[-1]


def _refuse_error(value: JsonValue) -> None:
    """Refuse an object that tells an error, and no text of the answer."""
    if isinstance(value, dict):
        named = "error" in (value.get("type"), value.get("event"))
        if named or (value.get("error") and value.keys() <= _OF_ERRORS):
            raise StreamError(_told(value.get("error") or value))


_OF_ERRORS = {"error", "message", "code", "status", "detail", "details", "done", "id"}
"""Keys of an object that tells nothing but an error; a step may hold the error of a tool."""


def _objects(items: Iterable[StreamItem]) -> Iterator[tuple[str, JsonObject]]:
    """Yield the objects among the items, each with its `type`, or the name of its event."""
    for item in items:
        value = item.value
        if isinstance(value, dict):
            kind = value.get("type")
            yield (kind if isinstance(kind, str) else item.name), value


def _ended(text: str, *, ended: bool) -> str:
    if not ended:
        raise StreamError("the stream broke off before its end")
    return text


def _told(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"the stream tells an error: {beginning(text, 300)}"


def _aisdk(items: Iterable[StreamItem]) -> str:
    """The text of the last step that has some (AI SDK, data stream and UI message stream)."""
    text = last = ""
    ended = known = False
    for item in items:
        name, value = item.name, item.value
        if not isinstance(value, dict):
            ended = ended or value == _DONE  # what a program writes itself has no `finish`
            continue
        known = True
        kind = string_of(value, "type") or name
        if kind == "error":
            raise StreamError(_told(value.get("errorText")))
        if kind == "abort":
            raise StreamError("the stream was aborted")
        if kind in {"start-step", "finish-step", "tool-input-start"}:
            last, text = text or last, ""
        elif kind == "text-delta":
            delta = value.get("delta")
            if not isinstance(delta, str):
                raise StreamError(f"a piece of its text is none: {quote(beginning(str(delta)))}")
            text += delta
        ended = ended or kind == "finish"
    if not (known or ended):
        raise StreamError(_NO_PARTS)
    return _ended(text or last, ended=ended)


_NO_PARTS = (
    "it has no event or part of an AI SDK stream (`toUIMessageStreamResponse`), though it may have "
    "broken off before the first. If the server answers with text (`toTextStreamResponse`), add "
    "`response: {}`; if with JSON, `response: {output: $.text}` with the path of its answer"
)

_SAID = {"response.output_text.delta", "response.refusal.delta"}


def _openai(items: Iterable[StreamItem]) -> str:
    """The content of the first choice of Chat Completions, or the text of a Response."""
    text, ended = "", False
    for item in items:
        name, value = item.name, item.value
        ended = ended or value == _DONE
        if not isinstance(value, dict):
            continue
        kind = string_of(value, "type") or name
        if value.get("error") or kind in {"error", "response.failed"}:
            raise StreamError(_told(value.get("error") or value))
        added = value.get("item")
        if kind == "response.output_item.added" and isinstance(added, dict):
            text = "" if added.get("type") == "message" else text
        if kind in _SAID:
            text += str(value.get("delta") or "")
        whole = value if value.get("object") == "response" else object_of(value, "response")
        if kind in _RESPONDED or whole.get("status") in {"completed", "incomplete"}:
            text, ended = text or _responded(whole), True
        for choice in list_of(value, "choices"):
            if isinstance(choice, dict) and choice.get("index", 0) == 0:
                said = object_of(choice, "delta") or object_of(choice, "message")
                text += str(said.get("content") or said.get("refusal") or "")
                ended = ended or bool(choice.get("finish_reason"))
    return _ended(text, ended=ended)


_RESPONDED = {"response.completed", "response.incomplete"}


def _responded(response: Mapping[str, JsonValue]) -> str:
    """Return the text of the last message of a whole Response."""
    told = [one for one in objects_of(response.get("output")) if one.get("type") == "message"]
    parts = objects_of(told[-1].get("content")) if told else ()
    return "".join(str(one.get("text") or one.get("refusal") or "") for one in parts)


def _anthropic(items: Iterable[StreamItem]) -> str:
    text, ended = "", False
    for kind, value in _objects(items):
        if kind == "error":
            raise StreamError(_told(value.get("error")))
        if kind == "message_start":
            text = ""
        delta = value.get("delta")
        if kind == "content_block_delta" and isinstance(delta, dict):
            text += str(delta.get("text") or "")
        if kind == "message":  # of a server that does not stream
            text, ended = _texts(value.get("content"), "text"), True
        ended = ended or kind == "message_stop"
    return _ended(text, ended=ended)


def _ag_ui(items: Iterable[StreamItem]) -> str:
    """The last message of the agent (https://docs.ag-ui.com/concepts/events), one of a subagent
    where it says nothing itself; else what the run waits for, or what it returns.
    """
    said: dict[str, _Message] = {}
    current, rest, ended = "", "", False
    for kind, value in _objects(items):
        if kind == "RUN_ERROR":
            raise StreamError(_told(value.get("message")))
        name = string_of(value, "messageId") or current
        begins = kind == "TEXT_MESSAGE_START"
        if begins or (kind == "TEXT_MESSAGE_CHUNK" and name not in said):
            said.pop(name, None)
            said[name] = _Message.of(value, "")
        if kind in {"TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK"}:
            current, before = name, said.get(name, _Message())
            more = "" if begins else str(value.get("delta") or "")
            said[name] = before._replace(text=before.text + more)
        elif kind == "MESSAGES_SNAPSHOT":
            said = _snapshot(value) or said
        elif kind == "CUSTOM" and value.get("name") == "on_interrupt":
            rest = json_text(value.get("value"))
        elif kind == "RUN_FINISHED":
            rest, ended = _left(value) or rest, True
    told = [one for one in said.values() if one.agents and one.text]
    own = [one for one in told if not one.inner] or told
    return _ended(own[-1].text if own else rest, ended=ended)


class _Message(NamedTuple):
    """A message of AG-UI: whether it is one of an agent, and of a subagent."""

    text: str = ""
    agents: bool = True
    inner: bool = False

    @classmethod
    def of(cls, value: Mapping[str, JsonValue], text: str) -> _Message:
        role = value.get("role") or "assistant"
        return cls(text, role == "assistant", bool(value.get("subagentRunId")))


def _snapshot(value: Mapping[str, JsonValue]) -> dict[str, _Message]:
    """Return the agent's messages after the last that a person sent."""
    told: dict[str, _Message] = {}
    for number, one in enumerate(objects_of(value.get("messages"))):
        if one.get("role") == "user":
            told.clear()
        elif one.get("role") == "assistant":
            name = string_of(one, "id") or str(number)
            told[name] = _Message.of(one, str(one.get("content") or ""))
    return told


def _left(finished: Mapping[str, JsonValue]) -> str:
    """Return what a run that ended says beside its messages. Raises `StreamError` for one that was
    cancelled.
    """
    outcome = object_of(finished, "outcome")
    if outcome.get("type") == "cancelled":
        raise StreamError("the run was cancelled")
    asked = objects_of(outcome.get("interrupts"))
    waits = [string_of(one, "message") or string_of(one, "reason") for one in asked]
    result = finished.get("result")
    return "\n".join(filter(None, waits)) or ("" if result is None else json_text(result))


def _chatkit(items: Iterable[StreamItem]) -> str:
    """The last message of the assistant that is done (ChatKit's thread stream events)."""
    said: dict[str, str] = {}
    ended, tool = False, ""
    for kind, value in _objects(items):
        if kind == "error":
            raise StreamError(_told(value.get("message") or value.get("code")))
        item = object_of(value, "item")
        name = string_of(item, "id")
        if kind in {"thread.item.done", "thread.item.replaced"}:
            if item.get("type") == "assistant_message":
                said[name], ended = _texts(item.get("content"), "text"), True
            elif kind == "thread.item.replaced":
                said.pop(name, None)
            tool = string_of(item, "name") if item.get("type") == _PAGE_S else tool
        elif kind == "thread.item.removed":
            said.pop(string_of(value, "item_id"), None)
    if tool and not ended:
        raise StreamError(f"it asks the page to run `{tool[:100]}`, and there is no page")
    return _ended(next(reversed(said.values()), ""), ended=ended)


_PAGE_S = "client_tool_call"


def _langserve(items: Iterable[StreamItem]) -> str:
    """The chunks of `/stream`: texts, messages with their content, what agents and chains say."""
    text, ended, keys = "", False, set[str]()
    for item in items:
        name, value = item.name, item.value
        if name == "error":
            raise StreamError(_told(value))
        ended = ended or name == "end"
        if name == "data":
            content = _chunk(value) if isinstance(value, dict) else value
            text += content if isinstance(content, str) else _texts(content, "text")
            if isinstance(value, dict) and content is None:
                keys |= set(value)
    if keys and not text:
        named = ", ".join(f"`{one[:40]}`" for one in sorted(keys)[:8])
        raise StreamError(
            f"its chunks are objects with {named}: say which is the answer with "
            "`response: {stream: sse, output: $.KEY}`"
        )
    return _ended(text, ended=ended)


def _chunk(value: Mapping[str, JsonValue]) -> JsonValue:
    """Return what a chunk adds to the answer: a message's content, or what LangChain's agents and
    retrieval chains call it.
    """
    return next((value[key] for key in ("content", "output", "answer") if key in value), None)


_OVER = {"completed", "input-required", "auth-required"}
_LOST = {"failed", "rejected", "canceled"}
_WRAPPED = ("task", "message", "statusUpdate", "artifactUpdate")
"""What a result holds since version 1.0; before, it is one of them itself."""


def _a2a(items: Iterable[StreamItem]) -> str:
    """What a task made, else what its agent said last (A2A, to version 0.3 and since 1.0)."""
    artifacts: dict[str, str] = {}
    said = state = ""
    ended = False
    for one_item in items:
        value = one_item.value
        if isinstance(value, dict) and value.get("error"):
            raise StreamError(_told(value["error"]))
        kind, one = _result(value)
        status = one.get("status")
        state = _state(status) or state
        if state in _LOST:
            why = _texts(value_at(status, "message", "parts"), "text")
            raise StreamError(f"the task ended as {state}" + (f": {why[:300]}" if why else ""))
        message = one if kind == "message" else value_at(status, "message")
        if isinstance(message, dict):
            parts = message.get("parts")
            said = (_made(parts) if kind == "message" else _texts(parts, "text")) or said
        for artifact in [*list_of(one, "artifacts"), one.get("artifact")]:
            if isinstance(artifact, dict):
                key = str(artifact.get("artifactId"))
                before = artifacts.get(key, "") if one.get("append") else ""
                artifacts[key] = before + _made(artifact.get("parts"))
        ended = ended or kind == "message" or state in _OVER or bool(one.get("final"))
    if state and not ended:
        raise StreamError(f"the stream broke off before its end: the task is {state}")
    return _ended("\n".join(filter(None, artifacts.values())) or said, ended=ended)


def _made(parts: JsonValue) -> str:
    """Return the text of what was made, else its data."""
    data = (one["data"] for one in objects_of(parts) if one.get("data") is not None)
    return _texts(parts, "text") or "\n".join(map(json_text, data))


def _result(value: JsonValue) -> tuple[str, dict[str, Any]]:
    """Return the kind of a result of A2A, and what it holds."""
    result = value_at(value, "result")
    if not isinstance(result, dict):
        return "", {}
    for kind in _WRAPPED:
        inner = result.get(kind)
        if "kind" not in result and isinstance(inner, dict):
            return kind, inner
    return str(result.get("kind")), result


def _state(status: Any) -> str:
    state = str(value_at(status, "state") or "")
    return state.removeprefix("TASK_STATE_").lower().replace("_", "-")


def _texts(parts: JsonValue, key: str) -> str:
    return "".join(str(one.get(key) or "") for one in objects_of(parts))


_FORMATS: Mapping[str, Callable[[Iterable[StreamItem]], str]] = {
    "aisdk": _aisdk,
    "openai": _openai,
    "anthropic": _anthropic,
    "ag-ui": _ag_ui,
    "chatkit": _chatkit,
    "langserve": _langserve,
    "a2a": _a2a,
}

PATHED = ("sse", "ndjson")
STREAMS = (*PATHED, *_FORMATS)
"""Kinds of streams: those of which a JSONPath finds the texts, and those that know themselves."""
