"""Small operations on JSON Schemas: variants by `type`, unused definitions, words for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from gateval.formats.native.written import NATIVE_VERSION

Schema: TypeAlias = dict[str, Any]
Definitions: TypeAlias = dict[str, Schema]

_REFERENCE = "#/$defs/"


def properties(schema: Schema) -> dict[str, Schema]:
    """Return the properties of an object's schema, to read or to change."""
    found: dict[str, Schema] = schema["properties"]
    return found


def variant(
    word: str,
    common: Schema,
    options: Schema,
    *,
    implied: bool = False,
    needed: tuple[str, ...] = (),
) -> Schema:
    """Return the schema of an object whose `type` is `word`: its own keys and the common ones.

    `implied`: the object may leave out `type`. `needed` are common keys that it may not leave out.
    """
    shared = properties(common)
    kind = {key: value for key, value in shared["type"].items() if key != "default"}
    required = [*([] if implied else ["type"]), *options.get("required", ()), *needed]
    return {
        **options,
        "properties": {**shared, **options.get("properties", {}), "type": {**kind, "const": word}},
        "required": required,
    }


def choice(names: list[str]) -> Schema:
    """Return that exactly one of these definitions must fit."""
    return {"oneOf": [{"$ref": f"{_REFERENCE}{name}"} for name in names]}


def with_status(schema: Schema) -> Schema:
    """Allow the `status` that exports of pai.io/v1 carry, and only there."""
    status = {"description": "What a cluster knows of the manifest. Left alone."}
    native = {"properties": {"apiVersion": {"const": NATIVE_VERSION}}}
    return {
        **schema,
        "properties": {**properties(schema), "status": status},
        "if": native,
        "then": {"properties": {"status": False}},
    }


def pruned(schema: Schema, definitions: Definitions) -> Definitions:
    """Return the definitions that `schema` uses, directly or not, by name."""
    used: set[str] = set()
    waiting = set(_references(schema))
    while waiting:
        name = waiting.pop()
        used.add(name)
        waiting |= set(_references(definitions[name])) - used
    return {name: definitions[name] for name in sorted(used)}


def tidy(schema: Any) -> Any:
    """Return a schema without the titles and null defaults that nobody wrote.

    Of descriptions the first paragraph stays: what follows is for readers of the code.
    """
    if isinstance(schema, list):
        return [tidy(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str):
            continue
        if key == "default" and value in (None, {}, []):
            continue
        if key == "description" and isinstance(value, str):
            kept[key] = re.sub(r"\s+", " ", value.partition("\n\n")[0]).strip()
        else:
            kept[key] = tidy(value)
    return kept


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for part in schema:
            yield from _references(part)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                yield value.removeprefix(_REFERENCE)
            else:
                yield from _references(value)
