"""The text of JavaScript and TypeScript in parts: what stands in brackets, between commas. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

_DEPTH = {"{": 1, "}": -1, "(": 1, ")": -1, "[": 1, "]": -1}
_MOST = 20_000
_COMMENT = re.compile(r"(?<![^\s(\[{},;=:)>])/\*.*?(?:\*/|\Z)|(?<![:\"'`\\/])//[^\n]*", re.S)


def braced(text: str, start: int) -> str:
    """Return what stands in the brackets that are open at `start`."""
    deep = 1
    for place in range(start, min(len(text), start + _MOST)):
        deep += _DEPTH.get(text[place], 0)
        if not deep:
            return text[start:place]
    return ""


def parts(text: str, ends: str = ",") -> Iterator[str]:
    """Yield what stands between the commas, or other `ends`, that are in no brackets."""
    deep, begun = 0, 0
    for place, letter in enumerate(text):
        deep += _DEPTH.get(letter, 0)
        if letter in ends and not deep:
            yield text[begun:place]
            begun = place + 1
    yield text[begun:]


def rest_of_statement(text: str, start: int) -> str:
    """Return the text from `start` to the end of its line or statement, whole brackets included."""
    deep = 0
    for place in range(start, min(len(text), start + 2_000)):
        deep = max(deep + _DEPTH.get(text[place], 0), 0)
        if not deep and text[place] in ";\n":
            return text[start:place]
    return text[start : start + 2_000]


def without_comments(text: str) -> str:
    """Return the text without its comments."""
    return _COMMENT.sub("", text)


_DEFINED = (
    r"\bfunction\s+{0}\s*(?:<[^>(]*>)?\(|\b(?:const|let|var)\s+{0}\b\s*(?::[^=\n]{{1,300}})?=(?!=)"
    r"|^[ \t]*(?:(?:public|private|protected|static|async)\s+)*\*?\s*{0}\s*(?:<[^>(]*>)?"
    r"\([^;]*?\{{"
    r"|^[ \t]*(?:(?:public|private|static|readonly)\s+)*{0}\s*[=:]\s*(?:async\b|\()"
    r"|\bexports\.{0}\s*="
)


def definition(name: str, text: str) -> str:
    """Return the function of this name: its parameters and what it does; "" for none."""
    found = re.search(_DEFINED.format(re.escape(name)), text, re.M)
    if found is None:
        return ""
    open_ = text.find("(", found.start())
    if open_ < 0:
        return ""
    given = braced(text, open_ + 1)
    if "=>" in given or "function" in given:  # `name = wrapped(async (req, res) => { … })`
        return given
    return f"{given}\n{body_behind(text, open_ + len(given) + 2)}"


def body_behind(text: str, start: int) -> str:
    """Return what a function does whose parameters end at `start`, where its type may stand."""
    deep, place = 0, start
    while place < min(len(text), start + 1_000):
        letter, before = text[place], text[start:place].rstrip()[-1:]
        if letter == "{":
            inner = braced(text, place + 1)
            if not deep and before not in {":", "|", "&"}:
                return inner
            place += len(inner) + 1
        elif letter == ";" and not deep:
            return ""
        deep += (letter == "<") - (letter == ">" and before not in {"=", "-"})
        place += 1
    return ""
