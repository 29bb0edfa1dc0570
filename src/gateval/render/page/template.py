"""How pages are filled in: every value is escaped, what hides in it is named, and a policy lets run
and be loaded only what is ours.

Whatever texts of strangers hold stays text: templates escape it, data is JSON in which no tag can
end, and the page's program never makes markup.
"""

from __future__ import annotations

import base64
import json
import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2

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


_COMPACT = json.JSONEncoder(separators=(",", ":"))


def as_json(value: Any) -> str:
    """Return JSON in ASCII that can stand in an element of HTML: it holds no `<`, `>` or `&`."""
    text = _COMPACT.encode(value)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


_VALUE = 2_000
"""Characters of one value in the document."""

_CODE = re.compile("`([^`\n]+)`")
"""What our sentences mean as code, in escaped text."""


@cache
def own_file(name: str) -> str:
    """Return one of the files here: a style, or a program."""
    return files(__package__).joinpath(name).read_text("utf-8")


def policy(styles: Sequence[str], scripts: Sequence[str] = (), more: str = "") -> str:
    """Return the policy (CSP) under which these files alone style and run."""
    style, script = (" ".join(map(_hash, names)) for names in (styles, scripts))
    return (
        f"default-src 'none'; script-src {script or _NONE}; style-src {style}; {more}"
        "base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


_NONE = "'none'"


@cache
def _hash(name: str) -> str:
    digest = sha256(own_file(name).encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def environment() -> jinja2.Environment:
    """Return what fills in the templates here."""
    import jinja2
    from markupsafe import Markup, escape

    def shown(value: object) -> object:
        return value if isinstance(value, Markup) else seen(str(value), _VALUE)

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("gateval.render.page", ""),
        autoescape=True,
        finalize=shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["coded"] = lambda text: markup(
        _CODE.sub(r"<code>\1</code>", str(escape(shown(text))))
    )
    made.filters["capfirst"] = lambda text: text[:1].upper() + text[1:]
    return made


def markup(text: str) -> object:
    """Return what is ours as it is."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - our files, JSON without `<`, plots and texts that are escaped
