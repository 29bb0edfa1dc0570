"""Small parts of sentences about what stands in a file."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import JsonValue

from gateval.domain.text.quoting import SHOWN, quote


def describe(value: JsonValue) -> str:
    """Return what a value is, for the end of a sentence: `text "abc"`, `number 3`, `a list`."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"number {str(value)[:SHOWN]}"
    if isinstance(value, str):
        return f"text {quote(value)}"
    return "a list" if isinstance(value, list) else "a mapping"


def one_of(words: Iterable[str], *, last: str = "or") -> str:
    """Return `a, b or c`."""
    *others, final = words
    return f"{', '.join(others)} {last} {final}" if others else final
