"""Statements of a Python file by its text alone. Pure."""

from __future__ import annotations

import re

NEXT = re.compile(r"\n(?![ \t)\]}.\n])")
"""Where a statement at the top of a module ends."""


def statement(text: str, start: int) -> str:
    """Return a statement at the top of a module, to the next one."""
    end = NEXT.search(text, start)
    return text[start : end.start() if end else len(text)]
