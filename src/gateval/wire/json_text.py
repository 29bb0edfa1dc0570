"""JSON as it crosses the wire: strict, finite, and free of text that no UTF-8 can hold."""

from __future__ import annotations

import json
import math

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.wire.base import WireError


def _finite(literal: str) -> float:
    number = float(literal)
    if not math.isfinite(number):
        raise WireError(f"{literal[:40]} is no finite number")
    return number


_READER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)
_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def read_json(data: bytes | str) -> JsonValue:
    """Read one JSON value; lone surrogates in it become U+FFFD. Raises `WireError`."""
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
        value: JsonValue = _READER.decode(text)
        # Only an escape can smuggle in a surrogate, and most bodies hold none.
        if "\\ud" in text or "\\uD" in text:
            value = _READER.decode(_encodable(_WRITER.encode(value)))
    except WireError:
        raise
    except UnicodeDecodeError:
        raise WireError("not UTF-8")
    except RecursionError:
        raise WireError("nested too deeply")
    except ValueError as error:
        raise WireError(f"no JSON ({str(error)[:100]})")
    return value


def read_object(data: bytes | str) -> JsonObject:
    """Read one JSON object. Raises `WireError`."""
    value = read_json(data)
    if not isinstance(value, dict):
        raise WireError("no JSON object")
    return value


def write_json(value: JsonValue) -> bytes:
    """Write a value as compact UTF-8 JSON. Raises `WireError` for NaN and for deep nesting."""
    text = write_text(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _encodable(text).encode()


def write_text(value: JsonValue) -> str:
    """Like `write_json`, as text. Lone surrogates are left to the encoder."""
    try:
        return _WRITER.encode(value)
    except RecursionError:
        raise WireError("nested too deeply")
    except ValueError as error:
        raise WireError(str(error))


def _encodable(text: str) -> str:
    """Return `text` with paired surrogates joined and lone ones replaced."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
