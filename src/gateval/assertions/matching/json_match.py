"""Compares JSON values by meaning."""

from __future__ import annotations

from pydantic import JsonValue

from gateval.domain.base import JsonObject


def json_equal(expected: JsonValue, actual: JsonValue) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, but not true and not "1"."""
    return matches(expected, actual, subset=False)


def matches(expected: JsonValue, actual: JsonValue, *, subset: bool) -> bool:
    """Whether `actual` is `expected`, or with `subset` holds it.

    With `subset`, an object may have further keys, at every level. Lists must have the same length
    and match place by place either way.
    """
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or not expected.keys() <= actual.keys():
            return False
        if not subset and len(expected) != len(actual):
            return False
        return all(matches(value, actual[key], subset=subset) for key, value in expected.items())
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(expected) != len(actual):
            return False
        pairs = zip(expected, actual, strict=True)
        return all(matches(one, other, subset=subset) for one, other in pairs)
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    return expected == actual


def without(value: JsonObject, path: str) -> JsonObject:
    """Return `value` without the key `path`: a key as it stands, or a dotted path to one."""
    if path in value:
        return {key: item for key, item in value.items() if key != path}
    head, dot, rest = path.partition(".")
    inner = value.get(head)
    if dot and isinstance(inner, dict):
        return {**value, head: without(inner, rest)}
    return value
