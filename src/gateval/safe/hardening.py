"""First half of the sanitiser: afterwards every character is what it looks like.

Terminal sequences and control characters go, invisible characters go or leave a mark, every kind
of line break is a newline and every kind of space a space.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

HIDDEN = "\N{REPLACEMENT CHARACTER}"
"""Stands where characters were that could reorder, smuggle or break text."""

_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor movements
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS
    r"|\x1b[ -/]*[0-~]?"
)
"""Sequences of ECMA-48, also as single C1 characters and also when cut short."""

_LINE_BREAKS = frozenset("\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")

_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

_INVISIBLE_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | frozenset(
    map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)
"""Fillers and variation selectors: no format characters for Unicode, invisible all the same."""

_STACKED_MARKS = re.compile(
    r"([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{3})"
    r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
"""More than three combining marks on one letter climb over the lines around it."""


def harden(text: str, limit: int) -> tuple[str, int]:
    """Return at most `limit` visible characters of `text`, and how many were left out.

    Only the first `2 * limit` characters are looked at, so hostile length costs nothing.
    """
    start = text[: 2 * limit]
    seen = visible(start)
    shown = seen[:limit]
    return shown, len(seen) - len(shown) + len(text) - len(start)


def visible(text: str) -> str:
    """Return `text` with every character what it looks like, however long."""
    if text.isascii() and text.isprintable():
        return text  # most text: nothing in it that any of the steps below would change
    text = _ESCAPE_SEQUENCE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    text = _STACKED_MARKS.sub(r"\1", text)
    text = unicodedata.normalize("NFC", text).translate(_Shown())
    return re.sub(f"{HIDDEN}{{2,}}", HIDDEN, text)


class _Shown:
    """The table for `str.translate`."""

    def __getitem__(self, code: int) -> str:
        return _show(code)


@lru_cache(maxsize=8192)
def _show(code: int) -> str:
    """Return what stands for one character: itself, another one, a mark, or nothing."""
    character = chr(code)
    if character in _LINE_BREAKS:
        return "\n"
    if character == "\t":
        return "    "
    category = unicodedata.category(character)
    if category == "Zs":
        return " "
    if character in _INVISIBLE_LETTERS or category == "Cc":
        return ""
    if category == "Cf":
        return HIDDEN if character in _REORDERING or code >= 0xE0000 else ""
    if category in {"Cs", "Co"} or code & 0xFFFE == 0xFFFE:
        return HIDDEN
    return character
