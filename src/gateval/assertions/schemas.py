"""JSON Schemas from a pull request, checked at a cost that is bounded before anything is checked.

The work is proportional to the schema's size, its references written out (`schema_references`),
times the size of the message; both are limited. It happens in native code that nothing interrupts.

A schema of 2 KB whose definitions refer to each other twice takes 2^n steps to check. So every way
to a subschema counts, circles are refused, and nothing outside the schema is ever fetched.
"""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.strict_json import list_of
from gateval.domain.text import quote
from gateval.safe.legible import shorten

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator


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
        again += isinstance(node, dict) and not _AGAIN.isdisjoint(node)
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
        parts = node.values() if isinstance(node, dict) else list_of(node)
        todo.extend((part, path, again) for part in parts if isinstance(part, dict | list))
    return nodes


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


_ONE = ("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if",
    "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
"""Keywords whose value is a schema (JSON Schema 2020-12 and before); `items` may be a list too."""

_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_NAMED = ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties",
    "properties",
)  # fmt: skip
"""Keywords with schemas by names of their own."""

_PLAIN = ("const", "contentEncoding", "contentMediaType", "default",
    "dependentRequired", "deprecated", "description", "enum", "examples", "exclusiveMaximum",
    "exclusiveMinimum", "format", "maxContains", "maxItems", "maxLength", "maxProperties",
    "maximum", "minContains", "minItems", "minLength", "minProperties", "minimum", "multipleOf",
    "pattern", "readOnly", "required", "title", "type", "uniqueItems", "writeOnly",
)  # fmt: skip
_KEYWORDS = (*_ONE, *_LISTS, *_NAMED, *_PLAIN)
_OTHERS = frozenset(
    {*_KEYWORDS, "example", "id", "nullable", "discriminator", "name", "errorMessage"}
)
"""Those, and words of OpenAPI and of validators, which are no slips."""

_NEAR = 0.8
_MOST_LOOKED_AT = 100
"""Unknown keys that are looked at: each costs a search for the nearest word."""


def _unknown(schema: JsonObject) -> Iterator[str]:
    """Yield the keys that are no keywords, of the schema and of those within it."""
    todo: list[JsonValue] = [schema]
    while todo:
        one = todo.pop()
        if not isinstance(one, dict):
            continue
        for key, value in one.items():
            if key in _NAMED and isinstance(value, dict):
                todo += value.values()
            elif key in _LISTS and isinstance(value, list):
                todo += value
            elif key in _ONE:
                todo.append(value)
            elif key not in _OTHERS and not key.startswith(("$", "x-")):
                yield key


SIZE_LIMIT = 64 * 1024
"""Characters of a schema as JSON."""

_TEXT_LIMIT = 100_000
_WORK_LIMIT = 100_000_000
_DETAILS_LIMIT = 5_000_000
_PATTERN_BYTES = 512 * 1024
_MISMATCHES = 3


class BoundedValidator(NamedTuple):
    """A compiled_schema schema and its size, references written out."""

    validator: Validator
    nodes: int


@functools.lru_cache(maxsize=128)
def compiled_schema(schema: str) -> BoundedValidator:
    """Return the validator of a schema given as JSON. Raises ValueError with a sentence."""
    import jsonschema_rs

    if len(schema) > SIZE_LIMIT:
        raise ValueError(
            f"the schema has {len(schema):,} characters; at most {SIZE_LIMIT:,} are allowed"
        )
    document: JsonObject = json.loads(schema)
    nodes = count_nodes(document)
    try:
        validator = jsonschema_rs.validator_for(
            document,
            validate_formats=True,
            ignore_unknown_formats=False,
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=_PATTERN_BYTES),
        )
    except jsonschema_rs.ValidationError as error:
        raise ValueError(f"the schema cannot be used: {_mismatch(error)}") from None
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        raise ValueError(f"the schema cannot be used: {shorten(str(error))}") from None
    for key in islice(_unknown(document), _MOST_LOOKED_AT):
        if near := difflib.get_close_matches(key, _KEYWORDS, n=1, cutoff=_NEAR):
            said = f'{quote(key)} is no keyword of JSON Schema; did you mean "{near[0]}"?'
            raise ValueError(said)
    return BoundedValidator(validator, nodes)


def text_limit(bounded: BoundedValidator) -> int:
    """The greatest size of a value, in characters of JSON, that is checked with this schema."""
    return min(_TEXT_LIMIT, _WORK_LIMIT // bounded.nodes)


def mismatches(bounded: BoundedValidator, value: JsonValue) -> tuple[str, ...]:
    """Return up to three mismatches as `$.path: what is wrong`; none if the value fits."""
    import jsonschema_rs

    validator = bounded.validator
    if validator.is_valid(value):
        return ()
    if len(json.dumps(value)) * bounded.nodes <= _DETAILS_LIMIT:
        found = islice(validator.iter_errors(value), _MISMATCHES)
        return tuple(_mismatch(error) for error in found)
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return (_mismatch(error),)
    raise AssertionError("a value that is not valid has a first mismatch")


def _mismatch(error: ValidationError) -> str:
    path = "".join(
        f"[{part}]" if isinstance(part, int) else f".{shorten(part, 60)}"
        for part in error.instance_path
    )
    return f"${path}: {shorten(error.message, 160)}"
