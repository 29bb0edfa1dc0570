"""Counts what a JSON Schema costs before it is used: its size with all references written out.

A schema of 2 KB whose definitions refer to each other twice takes 2^n steps to check. So every way
to a subschema counts, circles are refused, and nothing outside the schema is ever fetched.
"""

from __future__ import annotations

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.judging.neutral import shorten

NODES_LIMIT = 5_000
"""Objects and lists of a schema with its references written out."""

_AGAIN = {"unevaluatedProperties", "unevaluatedItems"}
_AGAIN_LIMIT = 3
_EXACT_WEIGHT = 300

_DIALECTS = {
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
}


def count_nodes(schema: JsonObject) -> int:
    """Return how many objects and lists the schema has, each reference counted as what it names.

    What is checked more than once, or at length, counts as often: see `_weight`.

    Raises ValueError with a sentence for a reference that is not `#/…` or that names nothing, for
    a circle of references, for more than `NODES_LIMIT`, and for what would make a reference mean
    something else (an `$id` inside, dynamic references, old or unknown dialects).
    """
    dialect = schema.get("$schema")
    if dialect is not None and str(dialect).rstrip("#") not in _DIALECTS:
        raise ValueError(
            f"`$schema` is {shorten(str(dialect), 80)}; use JSON Schema 2020-12, 2019-09, "
            "draft-07 or draft-06"
        )
    todo: list[tuple[JsonValue, frozenset[str], int]] = [(schema, frozenset(), 0)]
    nodes = 0
    while todo:
        node, path, again = todo.pop()
        again += _looks_again(node)
        nodes += _weight(node, again)
        if nodes > NODES_LIMIT:
            raise ValueError(
                f"the schema has more than {NODES_LIMIT:,} parts when its references are written "
                "out; make it smaller"
            )
        if isinstance(node, dict):
            _refuse_other_bases(node, is_root=node is schema)
            reference = node.get("$ref")
            if isinstance(reference, str):
                todo.append((_target(schema, reference, path), path | {reference}, again))
        parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        todo.extend((part, path, again) for part in parts if isinstance(part, dict | list))
    return nodes


def _looks_again(node: JsonValue) -> bool:
    return isinstance(node, dict) and not _AGAIN.isdisjoint(node)


def _weight(node: JsonValue, again: int) -> int:
    """Return what one object or list of a schema costs.

    `unevaluatedProperties` has everything beside it checked again, and one inside another again and
    again: 14 of them hold the gate for 8 seconds. `multipleOf` divides exactly, with big numbers.
    """
    if again > _AGAIN_LIMIT:
        raise ValueError(
            f"{' and '.join(f'`{key}`' for key in sorted(_AGAIN))} may be nested "
            f"{_AGAIN_LIMIT} levels deep, as each checks everything inside it again"
        )
    exact = isinstance(node, dict) and "multipleOf" in node
    return (1 << 2 * again) * (_EXACT_WEIGHT if exact else 1)


def _refuse_other_bases(node: JsonObject, *, is_root: bool) -> None:
    texts = {key for key, value in node.items() if isinstance(value, str)}
    if dynamic := texts & {"$dynamicRef", "$recursiveRef"}:
        raise ValueError(f"`{min(dynamic)}` is not supported; use `$ref`")
    if "$id" in texts and not is_root:
        raise ValueError("an `$id` inside the schema is not supported; use `$defs`")


def _target(schema: JsonObject, reference: str, path: frozenset[str]) -> JsonValue:
    """Follow a JSON pointer (RFC 6901) inside the schema."""
    from urllib.parse import unquote

    shown = shorten(reference, 80)
    if reference in path:
        raise ValueError(
            f"`$ref: {shown}` goes round in a circle, so the cost of the check has no bound; "
            "write the levels out that are needed"
        )
    if reference != "#" and not reference.startswith("#/"):
        raise ValueError(
            f"`$ref: {shown}` leaves the schema; nothing is fetched, only `#/…` is followed"
        )
    node: JsonValue = schema
    for part in unquote(reference).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isascii() and key.isdigit() and int(key) < len(node):
            node = node[int(key)]
        else:
            raise ValueError(f"`$ref: {shown}` names nothing in the schema")
    return node
