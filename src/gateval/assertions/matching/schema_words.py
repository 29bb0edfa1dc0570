"""Misspelled keywords of a JSON Schema, which asks nothing where it says `requird`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import islice

from pydantic import JsonValue

from gateval.domain.base import JsonObject

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


def misspelled(schema: JsonObject) -> tuple[str, str] | None:
    """Return the first key of a schema that is nearly a keyword, and that keyword; else None."""
    for key in islice(_unknown(schema), _MOST_LOOKED_AT):
        if near := difflib.get_close_matches(key, _KEYWORDS, n=1, cutoff=_NEAR):
            return key, near[0]
    return None


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
