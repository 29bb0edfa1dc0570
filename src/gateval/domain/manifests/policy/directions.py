"""Ways in which one value of a rule can be stricter than another; values are those of JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import NamedTuple

from pydantic import JsonValue


class Direction(NamedTuple):
    """Which of two values of a rule is the stricter one. `words` says it for people.

    `laxer(before, after)`: whether `after` asks less than `before` in any respect.
    `strictest(asked, own)`: what asks as much as both; `own` where neither asks more.
    """

    words: str
    laxer: Callable[[JsonValue, JsonValue], bool]
    strictest: Callable[[JsonValue, JsonValue], JsonValue]


def order(*values: JsonValue) -> Direction:
    """Named values, strictest first."""

    def laxer(before: JsonValue, after: JsonValue) -> bool:
        return values.index(after) > values.index(before)

    def strictest(asked: JsonValue, own: JsonValue) -> JsonValue:
        return min(asked, own, key=values.index)

    return Direction(", then ".join(f"`{_show(one)}`" for one in values), laxer, strictest)


def number(*, lower: bool, absent: bool = False) -> Direction:
    """A number that is stricter the lower, or the higher it is; none at all is above any, where it
    may be `absent`.
    """

    def laxer(before: JsonValue, after: JsonValue) -> bool:
        more = _number(after) - _number(before)
        return more > 0 if lower else more < 0

    def strictest(asked: JsonValue, own: JsonValue) -> JsonValue:
        return asked if laxer(asked, own) else own

    words = "the lower number" if lower else "the higher number"
    order_of_none = ", then none" if lower else ", none first"
    return Direction(words + (order_of_none if absent else ""), laxer, strictest)


def fewer() -> Direction:
    """A list that is stricter with fewer entries."""

    def laxer(before: JsonValue, after: JsonValue) -> bool:
        return not set(_entries(after)) <= set(_entries(before))

    def strictest(asked: JsonValue, own: JsonValue) -> JsonValue:
        return [one for one in _entries(own) if one in _entries(asked)]

    return Direction("fewer entries", laxer, strictest)


def fewer_records() -> Direction:
    """A list of records, each with keys of its own, that is stricter with fewer of them."""

    def laxer(before: JsonValue, after: JsonValue) -> bool:
        return any(one not in _list(before) for one in _list(after))

    def strictest(asked: JsonValue, own: JsonValue) -> JsonValue:
        return [one for one in _list(own) if one in _list(asked)]

    return Direction("fewer entries", laxer, strictest)


def more() -> Direction:
    """A list that is stricter with more entries."""

    def laxer(before: JsonValue, after: JsonValue) -> bool:
        return not set(_entries(before)) <= set(_entries(after))

    return Direction("more entries", laxer, _united)


def patterns(*, empty_is_all: bool) -> Direction:
    """Patterns of files that are stricter the more files they take in.

    With `empty_is_all`, no pattern at all means every file; otherwise none.
    """

    def laxer(before: JsonValue, after: JsonValue) -> bool:
        if empty_is_all and not (before and after):
            return bool(after)
        return any(not _within(one, _entries(after)) for one in _entries(before))

    def strictest(asked: JsonValue, own: JsonValue) -> JsonValue:
        return [] if empty_is_all and not (asked and own) else _united(asked, own)

    return Direction("more files" + (" (all, if empty)" if empty_is_all else ""), laxer, strictest)


def ports() -> Direction:
    """`policy.egress`: nothing but the gateway, some ports beside it, or everything (`open`)."""

    def laxer(before: JsonValue, after: JsonValue) -> bool:
        if "open" in (before, after):
            return before != after == "open"
        return not set(_entries(after)) <= set(_entries(before))

    def strictest(asked: JsonValue, own: JsonValue) -> JsonValue:
        if "open" in (asked, own):
            return own if asked == "open" else asked
        both: list[JsonValue] = [int(one) for one in _entries(own) if one in _entries(asked)]
        return both or "gateway"

    return Direction("`gateway`, then fewer ports, then `open`", laxer, strictest)


def fixed() -> Direction:
    """A value from which nobody can tell what it asks: each edit may ask less."""
    return Direction(
        "unknown: each edit has to be accepted",
        lambda before, after: before != after,
        lambda _, own: own,
    )


def free() -> Direction:
    """Values of which none asks more than the other."""
    return Direction("neither", lambda *_: False, lambda _, own: own)


def _within(pattern: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns surely takes in all that `pattern` does."""
    return any(
        other in {pattern, "**"}
        or (other.endswith("/**") and pattern.startswith(other.removesuffix("**")))
        for other in patterns
    )


def _united(asked: JsonValue, own: JsonValue) -> JsonValue:
    return list(dict.fromkeys((*_entries(own), *_entries(asked))))


def _entries(value: JsonValue) -> Sequence[str]:
    """The entries of a list as text; a word stands for none."""
    return list(map(str, value)) if isinstance(value, list) else ()


def _list(value: JsonValue) -> Sequence[JsonValue]:
    """The records of a list, each without the keys that are not set."""
    return [
        {key: part for key, part in one.items() if part is not None}
        if isinstance(one, dict)
        else one
        for one in (value if isinstance(value, list) else ())
    ]


def _number(value: JsonValue) -> float:
    if value is None:
        return inf
    return value if isinstance(value, int | float) else 0


def _show(value: JsonValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
