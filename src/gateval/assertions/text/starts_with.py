"""`startsWith`: the final message begins with a text."""

from __future__ import annotations

from typing import ClassVar

from gateval.assertions.text.edge import Edge
from gateval.judging.neutral import shorten


class StartsWith(Edge):
    """The agent's final message begins with the text, white space around both ignored.

    With `field`, a message that is no JSON or lacks the field fails; a field that is no text is
    looked at as JSON with sorted keys.
    """

    type: ClassVar[str] = "startsWith"
    verb: ClassVar[str] = "start with"

    def stands(self, text: str, value: str) -> bool:
        """See `Edge`."""
        return text.startswith(value)

    def shown(self, text: str) -> str:
        """See `Edge`."""
        return shorten(text)
