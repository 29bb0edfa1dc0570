"""Text of strangers inside records: cut to a size and whole Unicode, however it came.

A record has to be written even if somebody gave a reason of a megabyte; refusing it would be a way
to leave no trace.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, StringConstraints

SHORT = 200
"""Characters of a name, login, label or URL."""

LONG = 1_000
"""Characters of a reason or a sentence."""


def cut_to(limit: int) -> BeforeValidator:
    """Return what makes a text at most `limit` characters long; the cut says how much went."""

    def cut(value: object) -> object:
        if not isinstance(value, str):
            return value
        start = value[:limit]
        if not start.isascii():
            start = start.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return start if len(value) <= limit else _marked(start, len(value), limit)

    return BeforeValidator(cut)


def first_of(limit: int) -> BeforeValidator:
    """Return what keeps the first `limit` items of a list."""
    return BeforeValidator(
        lambda value: value[:limit] if isinstance(value, list | tuple) else value
    )


def _marked(start: str, length: int, limit: int) -> str:
    mark = f"\N{HORIZONTAL ELLIPSIS} ({length:,} characters)"
    return start[: limit - len(mark)] + mark


ShortText = Annotated[str, cut_to(SHORT), StringConstraints(max_length=SHORT)]
LongText = Annotated[str, cut_to(LONG), StringConstraints(max_length=LONG)]
