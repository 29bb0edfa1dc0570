"""How a value of the history is written for people and programs: camelCase keys, no empty ones."""

from __future__ import annotations

from pydantic import JsonValue
from pydantic.alias_generators import to_camel

from gateval.domain.base import Value

Row = dict[str, JsonValue]


def shown(value: Value) -> Row:
    """Return a value with the keys of the document, without what is not known."""
    return _camel(value.model_dump(mode="json"))


def _camel(content: dict[str, JsonValue]) -> Row:
    return {to_camel(key): _inner(one) for key, one in content.items() if one not in ("", None)}


def _inner(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return _camel(value)
    return [_inner(one) for one in value] if isinstance(value, list) else value
