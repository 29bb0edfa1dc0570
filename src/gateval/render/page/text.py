"""Texts of strangers as the page shows them: what cannot be seen is named, and nothing else done.

Whatever they hold stays text: templates escape it, data is JSON in which no tag can end, and the
page's program never makes markup.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from typing import Any

_SEEN = re.compile(
    r"[\n\t\x20-\x7e\xa0-\xac\xae-\u02ff\u0370-\u0482\u048a-\u052f\u3041-\u312f\u4e00-\u9fff]*"
)
"""Characters that anybody can see: most text holds no others."""

_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | frozenset(
    map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)
"""Letters and variation selectors that look like nothing."""

_COMBINING = r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_STACKED = re.compile(f"({_COMBINING}{{3}}){_COMBINING}+")
"""More than three marks on one letter climb over the lines around it."""

_PICTURES = "[\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff]"
_JOINED = re.compile(f"(?<={_PICTURES})(?:[\ufe0e\ufe0f]|\u200d(?={_PICTURES}))")
"""What says how a picture is drawn hides nothing."""


def seen(text: str, limit: int | None = None) -> str:
    """Return a text with each character that hides, reorders or breaks named as `⟦U+202E⟧`.

    Of more than `limit` characters, the first ones and how many are left out.
    """
    if limit is not None and len(text) > limit:
        left = len(text) - limit
        return f"{seen(text[:limit])}\N{HORIZONTAL ELLIPSIS} ({left:,} more characters)"
    if text.isascii() and text.isprintable():
        return text
    matched = _SEEN.match(text)
    if matched is not None and matched.end() == len(text):
        return text
    text = _JOINED.sub("", _JOINED.sub("", text.replace("\r\n", "\n")))
    return "".join(map(_named, _STACKED.sub("\\1\N{HORIZONTAL ELLIPSIS}", text)))


@lru_cache(maxsize=8192)
def _named(character: str) -> str:
    code, category = ord(character), unicodedata.category(character)
    hides = category in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} and character not in "\n\t"
    broken = category == "Cn" and (code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF)
    if not (hides or broken or character in _LETTERS):
        return character
    return f"\u27e6U+{code:04X}\u27e7"


def as_json(value: Any) -> str:
    """Return JSON in ASCII that can stand in an element of HTML: it holds no `<`, `>` or `&`."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
