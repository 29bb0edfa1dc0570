"""How text that strangers wrote appears in our sentences: short, in quotes, on one line."""

from __future__ import annotations

import unicodedata

SHOWN = 60
"""Characters shown of someone else's text."""


def quote(text: str) -> str:
    """Return `text` in double quotes, cut to `SHOWN` characters, unprintable ones escaped."""
    cut = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
    return '"' + "".join(char if char.isprintable() else _escape(char) for char in cut) + '"'


def _escape(char: str) -> str:
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char, f"\\u{ord(char):04x}")


def is_blank(text: str) -> bool:
    """Whether a text shows nothing: spaces, control characters, marks without a width."""
    return all(one.isspace() or unicodedata.category(one) in _UNSEEN for one in text)


_UNSEEN = frozenset({"Cc", "Cf"})
