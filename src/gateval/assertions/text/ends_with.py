"""`endsWith`: the final message ends with a text."""

from __future__ import annotations

from typing import ClassVar

from gateval.assertions.text.edge import Edge
from gateval.judging.neutral import shorten

_SHOWN = 200


class EndsWith(Edge):
    """The agent's final message ends with the text, white space around both ignored.

    With `field`, a message that is no JSON or lacks the field fails; a field that is no text is
    looked at as JSON with sorted keys.
    """

    type: ClassVar[str] = "endsWith"
    verb: ClassVar[str] = "end with"

    def stands(self, text: str, value: str) -> bool:
        """See `Edge`."""
        return text.endswith(value)

    def shown(self, text: str) -> str:
        """See `Edge`."""
        kept = shorten(text[-_SHOWN:], _SHOWN)
        return f"…{kept}" if len(text) > _SHOWN else kept
