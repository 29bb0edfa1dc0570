"""Between a fixture's messages, a model's calls, and what the loop can use of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixtures.attached import FilePart
from gateval.domain.manifests.fixtures.messages import (
    InputMessage,
    Part,
    files_in,
    parts_of,
    text_of,
)
from gateval.domain.text.strict_json import DEPTH_LIMIT
from gateval.domain.trials.model_call import Message, MessageFile, ToolCall


def message_of(said: InputMessage) -> Message:
    """Return a message of a fixture as a model is told it."""
    return Message(
        role=said.role.value,
        text=text_of(said.content),
        parts=tuple(map(_part, parts_of(said.content))) if any(files_in(said.content)) else (),
        tool_calls=tuple(
            ToolCall(id=one.id, name=one.tool, arguments=one.arguments) for one in said.tool_calls
        ),
        tool_call_id=said.tool_call_id,
    )


def _part(said: Part) -> str | MessageFile:
    if not isinstance(said, FilePart) or said.content is None:
        return said.shown
    found = said.content
    return MessageFile(
        name=found.name,
        media_type=found.media_type,
        is_image=said.type == "image",
        data=found.data,
    )


def usable(call: ToolCall) -> tuple[JsonObject, str]:
    """Return the arguments, and the raw text where there are none that can be used."""
    if call.raw is not None:
        return {}, call.raw or "(nothing)"
    if _too_deep(call.arguments):
        return {}, f"(nested more than {DEPTH_LIMIT} levels deep)"
    return call.arguments, ""


def _too_deep(value: JsonValue) -> bool:
    """Whether a results file with this in it could not be read back."""
    layer: list[JsonValue] = [value]
    for _ in range(DEPTH_LIMIT):
        layer = [inner for item in layer for inner in _inside(item)]
    return any(isinstance(item, dict | list) for item in layer)


def _inside(value: JsonValue) -> Iterable[JsonValue]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
