"""Attributes of OTLP's spans as plain JSON, and lists that are spread over several of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from gateval.domain.base import JsonObject

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
