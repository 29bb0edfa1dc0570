"""Compares one field of two JSON values, by the rules of AgentV's field accuracy."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Final, Literal, NamedTuple, Self

from pydantic import Field, JsonValue, model_validator

from gateval.assertions.graded.measures.dates import is_date_format, read_date
from gateval.assertions.matching.json_match import json_equal
from gateval.assertions.matching.numbers import exact, only_number
from gateval.domain.base import Spec, canonical_json
from gateval.domain.manifests.severity import AnyWeight
from gateval.domain.text.strict_json import NotStrictJson, read_json

_MISSING: Final = object()
_PART = re.compile(r"[^.\[\]]+|\[\d{1,9}\]")
_FENCE = re.compile(r"```(?:json)?[ \t]*\r?\n(.*?)\r?\n[ \t]*```", re.DOTALL)


class ExpectedField(Spec):
    """A field of the answer, and how it is compared."""

    path: str = Field(
        pattern=r"^[^.\[\]]+(\.[^.\[\]]+|\[\d{1,9}\])*$",
        max_length=500,
        description="Where it stands: `order.items[0].sku`.",
    )
    match: Literal["exact", "numericTolerance", "date"] = Field(
        default="exact", description="How it is compared."
    )
    required: bool = Field(default=True, description="Whether it is missed where it lacks.")
    weight: AnyWeight = Field(default=1.0, description="How much it counts beside the others.")
    tolerance: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="How far a number may be off."
    )
    relative: bool = Field(
        default=False, description="Whether `tolerance` is a share of the number expected."
    )
    formats: tuple[str, ...] = Field(
        default=(), max_length=20, description="Formats of dates: `YYYY-MM-DD`, `DD-MMM-YYYY`."
    )

    @model_validator(mode="after")
    def _fits_its_match(self) -> Self:
        if self.match != "numericTolerance" and (self.tolerance or self.relative):
            raise ValueError("`tolerance` goes with `match: numericTolerance`")
        if self.match != "date" and self.formats:
            raise ValueError("`formats` goes with `match: date`")
        wrong = next((one for one in self.formats if not is_date_format(one)), None)
        if wrong is not None:
            raise ValueError(f"`{wrong[:40]}` names no year, month and day, each once")
        return self


class FieldScore(NamedTuple):
    """The score of a field, None where it does not count; what is wrong with it, in words."""

    score: float | None
    words: str = ""


def mark(field: ExpectedField, expected: JsonValue, given: JsonValue) -> FieldScore:
    """Return the score of one field of `given`."""
    wanted, found = _at(expected, field.path), _at(given, field.path)
    if wanted is _MISSING:
        return FieldScore(1.0)
    if found is _MISSING:
        return FieldScore(0.0, "lacks") if field.required else FieldScore(None)
    if _equal(field, wanted, found):
        return FieldScore(1.0)
    return FieldScore(0.0, f"{_shown(found)} in place of {_shown(wanted)}")


def json_in(text: str) -> JsonValue:
    """Return the first JSON object or list in a text: all of it, in a fence, or amid words.

    None where there is none.
    """
    fenced = _FENCE.search(text)
    for part in (text, fenced[1] if fenced else ""):
        value = _read(part)
        if isinstance(value, dict | list):
            return value
    start = text.find("{")
    end = _end(text, start) if start >= 0 else -1
    return _read(text[start:end]) if end > 0 else None


def _read(text: str) -> JsonValue:
    try:
        return read_json(text)
    except NotStrictJson:
        return None


def _end(text: str, start: int) -> int:
    """Where the object that begins at `start` ends; -1 if it does not."""
    depth, quoted, escaped = 0, False, False
    for at in range(start, len(text)):
        char = text[at]
        if quoted:
            quoted = escaped or char != '"'
            escaped = char == "\\" and not escaped
            continue
        quoted = char == '"'
        depth += {"{": 1, "}": -1}.get(char, 0)
        if depth == 0:
            return at + 1
    return -1


def _at(value: JsonValue, path: str) -> object:
    for part in _PART.findall(path):
        if part.startswith("["):
            index = int(part[1:-1])
            if not isinstance(value, list) or index >= len(value):
                return _MISSING
            value = value[index]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        elif (
            isinstance(value, list) and part.isascii() and part.isdigit() and int(part) < len(value)
        ):
            value = value[int(part)]
        else:
            return _MISSING
    return value


def _equal(field: ExpectedField, wanted: object, found: object) -> bool:
    if field.match == "numericTolerance":
        one, other = _number(wanted), _number(found)
        if one is None or other is None:
            return False
        allowed = exact(field.tolerance) * (abs(one) if field.relative else 1)
        return abs(one - other) <= allowed
    if field.match == "date":
        day = _day(wanted, field.formats)
        return day is not None and day == _day(found, field.formats)
    return json_equal(wanted, found)  # type: ignore[arg-type] # what is there is JSON


def _number(value: object) -> Decimal | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return exact(value)
    return only_number(value) if isinstance(value, str) else None


def _day(value: object, formats: tuple[str, ...]) -> date | None:
    return read_date(value, formats) if isinstance(value, str) else None


def _shown(value: object) -> str:
    return canonical_json(value)  # type: ignore[arg-type] # what is there is JSON
