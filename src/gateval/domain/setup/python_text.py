"""Statements of a Python file by its text alone. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

NEXT = re.compile(r"\n(?![ \t)\]}.\n])")
"""Where a statement at the top of a module ends."""


_TRIPLE = re.compile(r"\"\"\"|\'\'\'")
_TEMPLATE = re.compile(r"(?<!\\)`")


def statement(text: str, start: int, *, node: bool = False) -> str:
    """Return a statement at the top of a module, to the next one; lines in a long string of it, a
    template's in a module of Node, are its own wherever they begin.
    """
    here, within = start, ""
    for end in NEXT.finditer(text, start):
        for mark in (_TEMPLATE if node else _TRIPLE).finditer(text, here, end.start()):
            within = "" if mark[0] == within else within or mark[0]
        here = end.start()
        if not within:
            return text[start:here]
    return text[start:]


def dotted(node: ast.expr) -> str:
    """Return the name of a thing, `a.b` or `.b` of what is no name; "" for any other expression.
    However deep it is, that takes no frames.
    """
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(
        [*([node.id] if isinstance(node, ast.Name) else [""] if parts else []), *parts[::-1]]
    )


_F_STRING = re.compile(r"\b[fF][rR]?(\"\"\"|\'\'\'|\"|\')")
_TYPE = re.compile(r"^([ \t]*)type[ \t]+\w+.*=.*$", re.M)


def in_older_words(text: str) -> str:
    """Return a file of Python 3.12 as older ones read it: what f-strings fill in without the quotes
    around them and without backslashes, and no `type` statements.
    """
    return "".join(_pieces(_TYPE.sub(r"\1pass", text)))


def _pieces(text: str) -> Iterator[str]:
    here = 0
    while found := _F_STRING.search(text, here):
        yield text[here : found.end()]
        end, inner = _filled(text, found.end(), found[1])
        yield inner
        here = end
    yield text[here:]


def _filled(text: str, start: int, quote: str) -> tuple[int, str]:
    """Return where the inside of an f-string ends, and that as older ones read it."""
    other = "'" if quote[0] == '"' else '"'
    depth, here, found = 0, start, []
    while here < len(text):
        one = text[here]
        if depth == 0 and one == "\\":
            found.append(text[here : here + 2])
            here += 2
            continue
        if (depth == 0 and text.startswith(quote, here)) or (one == "\n" and len(quote) == 1):
            break
        if depth == 0 and text[here : here + 2] in {"{{", "}}"}:
            found.append(text[here : here + 2])
            here += 2
            continue
        depth += (one == "{") - (one == "}" and depth > 0)
        found.append({quote[0]: other, "\\": "/"}.get(one, one) if depth else one)
        here += 1
    return here, "".join(found)
