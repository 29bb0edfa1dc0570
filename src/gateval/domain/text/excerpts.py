"""Short texts of a value before and after: of long texts and lists only what differs."""

from __future__ import annotations

from itertools import takewhile
from typing import TypeVar

from pydantic import JsonValue

from gateval.domain.base import JsonObject, canonical_json

Item = TypeVar("Item", bound=JsonValue)

EXCERPT = 160
"""Characters kept of a value before and after."""


def excerpts(before: JsonValue, after: JsonValue) -> tuple[str, str]:
    """Return both values as short texts: the lines that differ, the items, the keys."""
    before, after = _differing(before, after)
    return _show(before), _show(after)


def same(one: JsonValue, other: JsonValue) -> bool:
    """Whether two values are equal as JSON; in Python `1 == True`."""
    return canonical_json(one) == canonical_json(other)


def _differing(before: JsonValue, after: JsonValue) -> tuple[JsonValue, JsonValue]:
    """Leave out what both have, as long as they are of one kind."""
    if isinstance(before, str) and isinstance(after, str):
        return _lines(before.splitlines(), after.splitlines())
    if isinstance(before, dict) and isinstance(after, dict):
        return _keys(before, after)
    if isinstance(before, list) and isinstance(after, list):
        return _items(list(before), list(after))
    return before, after


def _lines(old: list[str], new: list[str]) -> tuple[str, str]:
    old, new = _apart(old, new)
    return " ".join(old), " ".join(new)


def _apart(old: list[Item], new: list[Item]) -> tuple[list[Item], list[Item]]:
    """Drop what both have at the start and at the end."""
    start = _shared(old, new)
    old, new = old[start:], new[start:]
    end = _shared(old[::-1], new[::-1])
    return old[: len(old) - end], new[: len(new) - end]


def _shared(old: list[Item], new: list[Item]) -> int:
    """How many items both begin with."""
    return sum(1 for _ in takewhile(lambda pair: same(*pair), zip(old, new, strict=False)))


def _keys(old: JsonObject, new: JsonObject) -> tuple[JsonValue, JsonValue]:
    keys = [k for k in {**old, **new} if k not in old or k not in new or not same(old[k], new[k])]
    return {k: old[k] for k in keys if k in old}, {k: new[k] for k in keys if k in new}


def _items(old: list[JsonValue], new: list[JsonValue]) -> tuple[JsonValue, JsonValue]:
    old, new = _apart(old, new)
    if len(old) == len(new) == 1 and isinstance(old[0], dict) and isinstance(new[0], dict):
        return _named(old[0], new[0])
    return old, new


def _named(old: JsonObject, new: JsonObject) -> tuple[JsonValue, JsonValue]:
    """One item that changed: what differs in it, and its name, so that a reader knows which."""
    less, more = _keys(old, new)
    if not isinstance(less, dict) or not isinstance(more, dict):
        return less, more
    named: JsonObject = {
        k: old[k] for k in ("name", "type") if k in old and k not in less and k not in more
    }
    return {**named, **less}, {**named, **more}


def _show(value: JsonValue) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else canonical_json(value)
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"
