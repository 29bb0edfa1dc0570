"""Typed access to JSON nobody has checked: each function gives the type it names or complains."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.text.strict_json import is_strict
from gateval.domain.trials.model_call import ToolCall
from gateval.wire.base import WireError
from gateval.wire.json_text import read_json, write_text

ERROR_LIMIT = 300
"""Characters kept of what a provider says about an error."""

FLOAT_LIMIT = 1e300
"""Whole numbers beyond this are no numbers of ours: JSON's integers know no end, floats do."""

PIECE = 512
"""Characters of a text that go into one event of a stream of ours."""

PLACEHOLDERS = {
    "image_url": "[image]",
    "input_audio": "[audio]",
    "input_image": "[image]",
    "input_file": "[file]",
}
"""Content that is no text, by its type; every other type stands for itself in brackets."""


def as_object(value: JsonValue, where: str) -> JsonObject:
    """Return `value` if it is an object, else raise `WireError` naming `where`."""
    if not isinstance(value, dict):
        raise WireError(f"{where} is no object")
    return value


def as_list(value: JsonValue, where: str) -> list[JsonValue]:
    """Return `value` if it is a list, an empty one for null, else raise `WireError`."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise WireError(f"{where} is no list")
    return value


def as_text(value: JsonValue, where: str) -> str:
    """Return `value` if it is a string, else raise `WireError`."""
    if not isinstance(value, str):
        raise WireError(f"{where} is no text")
    return value


def text_or_empty(value: JsonValue) -> str:
    """Return `value` if it is a string, else the empty string."""
    return value if isinstance(value, str) else ""


def as_number(value: JsonValue) -> float | None:
    """Return a number as float; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < FLOAT_LIMIT else None


def as_count(value: JsonValue) -> int | None:
    """Return a whole number from 0; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return value


def content_text(content: JsonValue, where: str, *, separator: str = "\n") -> str:
    """Return the text of a message: a string, null, or a list of parts joined by `separator`."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = as_list(content, where)
    return separator.join(part_text(part, where) for part in parts)


def pieces_of(content: JsonValue) -> list[str]:
    """Return the pieces in which a text goes into a stream, or comes out of one.

    A text is cut at `PIECE` characters; a list of parts gives the texts of those that have one.
    """
    if isinstance(content, str):
        return [content[at : at + PIECE] for at in range(0, len(content), PIECE)]
    parts = content if isinstance(content, list) else []
    return [text_or_empty(part.get("text")) for part in parts if isinstance(part, dict)]


def part_text(part: JsonValue, where: str) -> str:
    """Return the text of one part of a message, or a placeholder for what is no text."""
    if isinstance(part, str):
        return part
    fields = as_object(part, f"a part of {where}")
    kind = as_text(fields.get("type"), f"the type of a part of {where}")
    if kind in {"text", "input_text", "output_text"}:
        return as_text(fields.get("text"), f"the text of {where}")
    if kind == "refusal":
        return text_or_empty(fields.get("refusal"))
    return PLACEHOLDERS.get(kind, f"[{kind}]")


def tool_call(call_id: JsonValue, name: JsonValue, arguments: JsonValue) -> ToolCall:
    """Build a tool call from what the model sent; `arguments` is an object or text of one.

    An object nested too deeply to be stored and read again is kept as text.

    Nothing at all counts as no arguments: several servers send that for tools without parameters.
    """
    given_name = as_text(name, "the name of a tool call")
    given_id = text_or_empty(call_id)
    value = arguments
    if isinstance(arguments, str):
        value = _parsed(arguments) if arguments.strip() else {}
    if value is None:
        value = {}
    if isinstance(value, dict) and is_strict(value):
        return ToolCall(id=given_id, name=given_name, arguments=value)
    raw = arguments if isinstance(arguments, str) else write_text(arguments)
    return ToolCall(id=given_id, name=given_name, raw=raw)


def _parsed(text: str) -> JsonValue:
    try:
        return read_json(text)
    except WireError:
        return text


def error_text(body: bytes) -> str:
    """Return what an error body says: its `error.message` or the like, else its first words."""
    try:
        value = read_json(body)
    except WireError:
        value = body[: 4 * ERROR_LIMIT].decode("utf-8", "replace")
    for name in ("error", "message", "detail"):
        if isinstance(value, dict) and name in value:
            value = value[name]
    text = value if isinstance(value, str) else _short_json(value)
    return " ".join(text.split())[:ERROR_LIMIT]


def _short_json(value: JsonValue) -> str:
    if not value:
        return ""
    try:
        return write_text(value)
    except WireError:
        return ""


def with_model(fields: JsonObject, model: str) -> JsonObject:
    """Return a body with another model: `for_model` of formats that name it in the body."""
    return {**fields, "model": model}


def error_type(status: int, types: Mapping[int, str]) -> str:
    """Return the word for `status` in `types`, else one of the two that both formats share."""
    return types.get(status, "invalid_request_error" if status < 500 else "api_error")
