"""Looks into the agent's final message: as a whole, or at one field of it read as JSON."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from gateval.assertions.evidence import Evidence, NotMeasured
from gateval.domain.base import canonical_json
from gateval.domain.text.strict_json import NotStrictJson, read_json
from gateval.domain.trials.trial import Cause
from gateval.judging.neutral import shorten

TEXT_LIMIT = 100_000
"""Characters that are searched or compared at most."""

FieldPath = Annotated[
    str | None,
    Field(
        pattern=r"^[^.]+(\.[^.]+)*$",
        max_length=500,
        description="A field to look at instead of the whole message, which is then read as JSON: "
        "`order.items.0.sku` (a number is a place in a list, from 0).",
    ),
]


class NoText(Exception):
    """The text to look at is not there. The message tells what stands there instead."""


def message(evidence: Evidence) -> str:
    """The final message, with what no UTF-8 can hold replaced."""
    return evidence.answer.output.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def quoted(text: str) -> str:
    """Return a stranger's text in quotes, short and on one line."""
    return f'"{shorten(text)}"'


def where(field: str | None) -> str:
    """Return what is looked at, for a sentence."""
    return "the final message" if field is None else f"`{field}` of the final message"


def refuse_longer(text: str, field: str | None, looks: str) -> None:
    """Raise `NotMeasured` for a text that is too long for what looks at it.

    `looks` says what that does, say "`regex` searches".
    """
    if len(text) > TEXT_LIMIT:
        said = f"{where(field)} has {len(text):,} characters; {looks} at most {TEXT_LIMIT:,}"
        raise NotMeasured(Cause.GATE, said)


def json_at(evidence: Evidence, field: str | None) -> JsonValue:
    """The final message as JSON, or its field. Raises `NoText`."""
    text = message(evidence)
    try:
        value = read_json(text)
    except NotStrictJson as error:
        raise NoText(f"a final message that is no JSON ({error}): {quoted(text)}") from None
    for name in field.split(".") if field else ():
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isascii() and name.isdigit() and len(name) < 10:
            value = _place(value, int(name), field, text)
        else:
            raise NoText(f"no field `{field}` in {quoted(text)}")
    return value


def text_at(evidence: Evidence, field: str | None) -> str:
    """The final message, or the text of a field of it; a field that is no text as its JSON.

    Raises `NoText`.
    """
    if field is None:
        return message(evidence)
    value = json_at(evidence, field)
    return value if isinstance(value, str) else canonical_json(value)


def _place(value: list[JsonValue], index: int, field: str | None, text: str) -> JsonValue:
    if index >= len(value):
        raise NoText(f"no field `{field}` in {quoted(text)}")
    return value[index]
