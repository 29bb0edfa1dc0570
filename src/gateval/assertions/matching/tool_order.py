"""Parts that the assertions on tool calls share."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

ToolName = Annotated[str, Field(min_length=1, max_length=200)]
"""The name of a tool, exactly as the agent calls it."""


def refuse_itself(tool: str, before: tuple[str, ...]) -> None:
    """Raise ValueError if `before` names the tool itself: that holds always or never."""
    if tool in before:
        raise ValueError(f"`before` names `{tool}` itself, and a call cannot come before itself")


def listed(*, before: tuple[str, ...], after: tuple[str, ...]) -> str:
    """Return the order asked for as the end of a sentence: " before `a`, `b` and after `c`"."""
    parts = [
        f" {word} " + ", ".join(f"`{name}`" for name in names)
        for word, names in (("before", before), ("after", after))
        if names
    ]
    return " and".join(parts)
