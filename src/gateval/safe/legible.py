"""Shows what could deceive a reader in texts of strangers, and compares texts without it. Pure.

Two kinds of characters can deceive a judge or a person: those that nobody sees (zero width,
direction marks, controls, fillers, tags) and those that look like the brackets of delimiters. Both
are replaced by their JSON escape (`\u200b`). Inside JSON that is another spelling of the same
string; in prose it makes the character visible. `fold` undoes it on both sides of a comparison, so
a quote matches however the judge spelled it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable

from pydantic import JsonValue

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters, marks and symbols that show nothing."""

_ANGLES = frozenset(
    "<>\u00ab\u00bb\u02c2\u02c3\u1433\u1438\u16b2\u2039\u203a\u226a\u226b"
    "\u22d8\u22d9\u2329\u232a\u276c\u276d\u276e\u276f\u2770\u2771\u27e8\u27e9\u27ea\u27eb\u2991"
    "\u2992\u29fc\u29fd\u3008\u3009\u300a\u300b\ufe3d\ufe3e\ufe3f\ufe40\ufe64\ufe65\uff1c\uff1e"
    "\U00016f3f\U0001d236\U0001d237"
)
"""Angle brackets and what passes for them (confusables of Unicode TR 39, and CJK brackets)."""

_ESCAPE = re.compile(r"""\\(?:(["\\/bfnrt])|((?:u[0-9a-fA-F]{4})(?:\\u[0-9a-fA-F]{4})*))""")


def is_hidden(char: str) -> bool:
    """Whether a reader would not see `char` where it stands."""
    if char in _BLANKS or unicodedata.category(char) in _HIDDEN_CATEGORIES:
        return True
    code = ord(char)  # variation selectors, of which long runs can carry a secret text
    return 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF or 0x180B <= code <= 0x180F


def is_angle(char: str) -> bool:
    """Whether `char` is an angle bracket or looks like one."""
    return char in _ANGLES or not {"<", ">"}.isdisjoint(unicodedata.normalize("NFKD", char))


class _Table(dict[int, str | None]):
    """A table for `str.translate` that works out each character once."""

    def __init__(self, change: Callable[[str], str | None]) -> None:
        super().__init__()
        self._change = change

    def __missing__(self, code: int) -> str | None:
        changed = self[code] = self._change(chr(code))
        return changed


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x80 else json.dumps(char)[1:-1]


_DATA = _Table(lambda char: _escape(char) if is_hidden(char) or is_angle(char) else char)
_PROSE = _Table(lambda char: _escape(char) if is_hidden(char) else char)
_UNSEEN = _Table(lambda char: None if is_hidden(char) and not char.isspace() else char)


_LINES = frozenset("\n\t")


def as_data(text: str) -> str:
    """Return a text of several lines without hidden characters and angle brackets. JSON in it reads
    back as the same value.
    """
    return "".join(char if char in _LINES else char.translate(_DATA) for char in text)


_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def neutral_json(value: JsonValue) -> str:
    """Return `value` as JSON on one line, without hidden characters and angle brackets.

    It reads back as the same value. As no bracket of any look is left, no delimiter built from
    angle brackets can be imitated in it.
    """
    text = _WRITER.encode(value)
    plain = text.isascii() and text.isprintable() and "<" not in text and ">" not in text
    return text if plain else text.translate(_DATA)


def visible(text: str) -> str:
    """Return `text` with hidden characters, line breaks included, as visible escapes."""
    return text.translate(_PROSE)


def shorten(text: str, limit: int = 200) -> str:
    """Return `text` for a sentence: one line, hidden characters visible, at most `limit` long.

    White space is folded; what is left out is shown as `…`.
    """
    line = visible(" ".join(text[: limit * 4].split()))
    if len(line) > limit or len(text) > limit * 4:
        return f"{line[: limit - 1]}…"
    return line


def fold(text: str) -> str:
    """Return what two texts are compared by: JSON escapes read, hidden characters dropped, white
    space folded to single spaces.
    """
    return " ".join(_ESCAPE.sub(_unescape, text).translate(_UNSEEN).split())


def _unescape(match: re.Match[str]) -> str:
    if match[1] in ("b", "f", "n", "r", "t"):
        return " "
    read: str = json.loads(f'"{match[0]}"')
    return read
