"""How values that strangers wrote appear in our sentences: short, in quotes, on one line."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import JsonValue

SHOWN = 60
"""Characters shown of someone else's text."""


def quote(text: str) -> str:
    """Return `text` in double quotes, cut to `SHOWN` characters, unprintable ones escaped."""
    cut = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
    return '"' + "".join(char if char.isprintable() else _escape(char) for char in cut) + '"'


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


def _escape(char: str) -> str:
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char, f"\\u{ord(char):04x}")
