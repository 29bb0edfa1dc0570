"""Messages as chat APIs have them: OpenAI's, with tool calls, and Anthropic's, with blocks."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject, canonical_json
from gateval.domain.manifests.messages import Role
from gateval.domain.promotion import NoRun, Recorded, RecordedCall, RecordedMessage, recorded_run
from gateval.domain.strict_json import NotStrictJson, read_json

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
    named = value.get("id") if isinstance(value, dict) else None
    return recorded_run(said, named if isinstance(named, str) else "")


def _messages(value: JsonValue) -> list[JsonObject]:
    """The messages, and after them the reply to them where one stands beside."""
    if isinstance(value, dict):
        found = value.get("messages")
        inner = found if isinstance(found, list) else []
        replies = [*_replies(value), *_replies(value.get("response"))]
        asked = value.get("request")
        if not inner and isinstance(asked, dict):
            inner = _messages(asked)  # type: ignore[assignment]
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
    blocks = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    if kind := next((k for one in blocks if (k := str(one.get("type"))) not in _SAYING), ""):
        raise NoRun(f"a message holds a part of the type {kind[:40]!r}, not only text")
    text = content if isinstance(content, str) else _text(blocks)
    if role is Role.TOOL:
        call_id = str(message.get("tool_call_id") or message.get("name") or "")
        yield RecordedMessage(role=role, text=text, call_id=call_id, result=as_result(text))
        return
    yield from (_result(block) for block in blocks if block.get("type") == "tool_result")
    calls = (*_openai_calls(message), *_anthropic_calls(blocks))
    if text or calls or not blocks:
        yield RecordedMessage(role=role, text=text, calls=calls)


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


def _openai_calls(message: JsonObject) -> Iterator[RecordedCall]:
    calls = message.get("tool_calls")
    old = message.get("function_call")
    if isinstance(old, dict):
        yield _call(old, str(old.get("name", "")))
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            inner = call.get("function")
            yield _call(inner if isinstance(inner, dict) else call, str(call.get("id", "")))


def _anthropic_calls(blocks: list[JsonObject]) -> Iterator[RecordedCall]:
    for block in blocks:
        if block.get("type") == "tool_use":
            yield _call({**block, "arguments": block.get("input")}, str(block.get("id", "")))


def _call(named: JsonObject, call_id: str) -> RecordedCall:
    arguments = named.get("arguments", named.get("args"))
    read = as_json(arguments)
    tool = str(named.get("name", ""))
    if not tool:
        raise NoRun("a call in it names no tool")
    return RecordedCall(id=call_id, tool=tool, arguments=read if isinstance(read, dict) else {})


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
