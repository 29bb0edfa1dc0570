"""One reader for JSON that strangers wrote: what is ambiguous is refused, not guessed.

Python's `json` takes the last of two equal keys, reads `NaN`, and follows any nesting. A verdict
or an answer that says two things at once must not be read as one of them. The rules are those of
I-JSON (RFC 7493): unique names, no lone surrogates; plus finite numbers and a depth limit.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, cast

from pydantic import JsonValue

from gateval.domain.base import JsonObject

DEPTH_LIMIT = 100
"""Levels of nesting; deeper ones are refused, so that readers may recurse."""

_TOO_LONG = "a number has too many digits"
_SPACE = re.compile(r"[ \t\n\r]*")


class NotStrictJson(ValueError):
    """The text is not one unambiguous JSON value; the message says why, without a full stop."""


class NotStrictListed(NotStrictJson):
    """The same of one value of a list; `at` is the offset in the text at which it begins."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


def read_json(text: str, *, depth: int = DEPTH_LIMIT) -> JsonValue:
    """Return the one JSON value that `text` holds, white space around it allowed.

    Raises `NotStrictJson` for text that is no JSON, for anything before or after the value, for a
    repeated key, `NaN` and infinities, numbers too big to hold, lone surrogates, and more than
    `depth` levels.
    """
    try:
        value: JsonValue = _DECODER.decode(text)
    except NotStrictJson:
        raise
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise NotStrictJson(f"{error.msg[:1].lower()}{error.msg[1:]} at {where}") from None
    except RecursionError:
        raise NotStrictJson(_too_deep(depth)) from None
    except ValueError:  # an integer with more digits than Python converts
        raise NotStrictJson(_TOO_LONG) from None
    _check_of(text, depth)(value, 0, len(text))
    return value


def read_json_list(text: str) -> Iterator[tuple[int, JsonValue]]:
    """Yield each value of the one list that `text` holds, with the offset at which it begins.

    Raises `NotStrictListed` as `read_json` does, and `json.JSONDecodeError` for what is no list.
    """
    check = _check_of(text, DEPTH_LIMIT)
    at = _expect(text, 0, "[")
    more = text[at : at + 1] != "]"
    while more:
        try:
            value, end = _DECODER.raw_decode(text, at)
            check(value, at, end)
        except json.JSONDecodeError:
            raise
        except NotStrictJson as error:
            raise NotStrictListed(str(error), at) from None
        except RecursionError:
            raise NotStrictListed(_too_deep(DEPTH_LIMIT), at) from None
        except ValueError:
            raise NotStrictListed(_TOO_LONG, at) from None
        yield at, value
        at = _skipped(text, end)
        more = text[at : at + 1] != "]"
        at = _expect(text, at, ",") if more else at
    if _skipped(text, at + 1) != len(text):
        raise json.JSONDecodeError("there is more after the list", text, at + 1)


def read_json_parts(
    text: str, path: Sequence[str], made: Callable[[JsonValue], object], *, depth: int
) -> JsonObject:
    """Return the one JSON object that `text` holds, with what is `made` of each item of a list in
    place of that item: never is more than one of these in memory as JSON.

    `path` are the names of lists of objects, one in the other; the items are those of the last.
    Raises `ValueError` as `read_json` does, and for what is no object; a level more or less may be
    allowed around the items.
    """
    check = _check_of(text, depth)

    def value(at: int, names: Sequence[str], *, listed: bool) -> tuple[Any, int]:
        if listed and text[at : at + 1] == "[":
            return sequence(at, names)
        if not listed and names and text[at : at + 1] == "{":
            return mapping(at, names)
        found, end = _DECODER.raw_decode(text, at)
        check(found, at, end)
        return found, end

    def mapping(at: int, names: Sequence[str]) -> tuple[Any, int]:
        found: list[tuple[str, Any]] = []
        at = _skipped(text, at + 1)
        more = text[at : at + 1] != "}"
        while more:
            key, end = value(at, (), listed=False)
            if not isinstance(key, str):
                raise json.JSONDecodeError("expected a name", text, at)
            at = _expect(text, end, ":")
            known = key == names[0]
            one, end = value(at, names[1:] if known else (), listed=known)
            found.append((key, one))
            at = _skipped(text, end)
            more = text[at : at + 1] != "}"
            at = _expect(text, at, ",") if more else at
        return _unique(found), at + 1

    def sequence(at: int, names: Sequence[str]) -> tuple[Any, int]:
        found: list[Any] = []
        at = _skipped(text, at + 1)
        more = text[at : at + 1] != "]"
        while more:
            one, end = value(at, names, listed=False)
            found.append(one if names else made(one))
            at = _skipped(text, end)
            more = text[at : at + 1] != "]"
            at = _expect(text, at, ",") if more else at
        return found, at + 1

    whole, end = value(_skipped(text, 0), path, listed=False)
    if _skipped(text, end) != len(text) or not isinstance(whole, dict):
        raise json.JSONDecodeError("it is not one object", text, end)
    return whole


def _expect(text: str, at: int, char: str) -> int:
    """Return where the next value begins after `char`."""
    at = _skipped(text, at)
    if text[at : at + 1] != char:
        raise json.JSONDecodeError(f"expected `{char}`", text, at)
    return _skipped(text, at + 1)


def _skipped(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def is_strict(value: JsonValue) -> bool:
    """Whether a value from elsewhere is at most `DEPTH_LIMIT` levels deep, with whole texts."""
    try:
        _check(value, DEPTH_LIMIT)
    except NotStrictJson:
        return False
    return True


def _too_deep(depth: int) -> str:
    return f"it is nested more than {depth} levels deep"


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen = set[str]()
        for key, _ in pairs:
            if key in seen:
                raise NotStrictJson(f"the key {json.dumps(key[:60])} stands there twice")
            seen.add(key)
    return found


def _no_constant(name: str) -> NoReturn:
    raise NotStrictJson(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise NotStrictJson("a number is too big")
    return number


def _check_of(text: str, depth: int) -> Callable[[JsonValue, int, int], None]:
    """Return what refuses lone surrogates and deep nesting in a value, which stands in `text` from
    one place up to another: what that text cannot hold is not looked for in the value.
    """
    whole = _may_hold_surrogates(text)

    def check(value: JsonValue, at: int, end: int) -> None:
        if whole:
            _check(value, depth)
        elif text.count("{", at, end) + text.count("[", at, end) > depth:
            _check_depth(value, depth)

    return check


def _may_hold_surrogates(text: str) -> bool:
    """Whether a value in a JSON text may hold half of a surrogate pair: escaped or as it is."""
    if "\\ud" in text or "\\uD" in text:
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _check_depth(value: JsonValue, depth: int) -> None:
    """Refuse deep nesting, without recursion."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(depth):
        if not level:
            return
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list
        ]
    if level:
        raise NotStrictJson(_too_deep(depth))


def _check(value: JsonValue, depth: int) -> None:
    """Refuse lone surrogates and deep nesting, without recursion."""
    level = _containers([value])
    for _ in range(depth):
        if not level:
            return
        level = [
            inner
            for outer in level
            for inner in _containers(
                [*outer, *outer.values()] if isinstance(outer, dict) else outer
            )
        ]
    if level:
        raise NotStrictJson(_too_deep(depth))


def _containers(values: list[JsonValue]) -> list[dict[str, JsonValue] | list[JsonValue]]:
    """Check the texts among `values` and return what holds more of them."""
    found: list[dict[str, JsonValue] | list[JsonValue]] = []
    for value in values:
        if isinstance(value, str):
            if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
                raise NotStrictJson("a text holds half of a surrogate pair")
        elif isinstance(value, dict | list):
            found.append(value)
    return found


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite
)


def value_at(value: object, *keys: str) -> JsonValue:
    """Return what stands below these keys, one in the other; None where nothing does."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return cast("JsonValue", value)


def object_of(value: object, *keys: str) -> JsonObject:
    """Return the JSON object below these keys; an empty one for what is none."""
    found = value_at(value, *keys)
    return found if isinstance(found, dict) else {}


def list_of(value: object, *keys: str) -> list[Any]:
    """Return the JSON list below these keys; an empty one for what is none."""
    found = value_at(value, *keys)
    return found if isinstance(found, list) else []


def string_of(value: object, *keys: str) -> str:
    """Return the JSON string below these keys; an empty one for what is none."""
    found = value_at(value, *keys)
    return found if isinstance(found, str) else ""


def objects_of(value: object, *keys: str) -> list[JsonObject]:
    """Return the objects in the JSON list below these keys."""
    return [one for one in list_of(value, *keys) if isinstance(one, dict)]


def strings_of(value: object, *keys: str) -> list[str]:
    """Return the strings in the JSON list below these keys."""
    return [one for one in list_of(value, *keys) if isinstance(one, str)]
