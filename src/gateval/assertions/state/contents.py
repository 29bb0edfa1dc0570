"""Reads one file of an end state for the assertions on its content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import JsonValue

from gateval.assertions.matching.final_message import NoText
from gateval.assertions.state.base import TEXT_BYTES, instead, named
from gateval.candidates.bounded.json_path import Nothing, PathError, find
from gateval.candidates.playground.reading import Unreadable
from gateval.domain.base import canonical_json
from gateval.domain.text.strict_json import NotStrictJson, read_json
from gateval.judging.neutral import shorten

if TYPE_CHECKING:
    from gateval.candidates.playground.state import EndState


async def text_of(state: EndState, path: str) -> str:
    """Return a file as text; what is no UTF-8 becomes U+FFFD. Raises `NoText`, `Unreadable`."""
    found = await state.content(path, TEXT_BYTES)
    if isinstance(found, bytes):
        return found.decode("utf-8", "replace")
    raise NoText(f"{instead(found)} at {named(path)}")


def json_of(text: str, at: str, what: str) -> JsonValue:
    """Return the value that a JSONPath names in a text. Raises `NoText` and `Unreadable`."""
    try:
        return find(at, read_json(text))
    except NotStrictJson as error:
        raise NoText(f"{what} that is no JSON ({error})") from None
    except Nothing:
        raise NoText(f"nothing at `{at}` of {what}") from None
    except PathError as error:
        raise Unreadable(f"{what}: {error}") from None


def shown(value: JsonValue) -> str:
    """Return a value for a sentence."""
    return shorten(canonical_json(value))
