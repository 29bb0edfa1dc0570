"""Server-sent events, piece by piece: bytes in as they come, whole events out.

Format: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream.
Of an event its name and its data are kept; ids and waits mean nothing to model streams. A comment
(a provider's sign of life) comes out as an event without data, and without its words.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_LINE_END = re.compile(rb"\r\n|\n|\r")
_LEADING_BOM = b"\xef\xbb\xbf"

KEEP_ALIVE = b":\n\n"
"""A comment, which readers pass over."""


class SseEvent(NamedTuple):
    """One event. `data` is None for a comment."""

    name: str
    data: str | None


class SseReader:
    """Cuts a stream into events, wherever its pieces begin and end."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._name = ""
        self._data: list[str] = []
        self._is_first = True
        self._after_return = False

    def feed(self, piece: bytes) -> list[SseEvent]:
        """Return the events that are complete with this piece."""
        if self._after_return and piece:
            # The line ended with the last piece; this line feed is the other half of its end.
            piece = piece.removeprefix(b"\n")
            self._after_return = False
        seen = len(self._rest)
        self._rest += piece
        self._after_return = self._rest.endswith(b"\r")
        events: list[SseEvent] = []
        start = 0
        for found in _LINE_END.finditer(self._rest, seen):
            self._line(bytes(self._rest[start : found.start()]), events)
            start = found.end()
        del self._rest[:start]
        return events

    @property
    def pending(self) -> int:
        """Bytes and characters held for an event that is not complete."""
        return len(self._rest) + sum(map(len, self._data))

    def _line(self, line: bytes, events: list[SseEvent]) -> None:
        if self._is_first:
            line = line.removeprefix(_LEADING_BOM)
            self._is_first = False
        if not line:
            if self._data:
                events.append(SseEvent(self._name, "\n".join(self._data)))
            self._name, self._data = "", []
            return
        name, _, value = line.partition(b":")
        if not name:
            events.append(SseEvent("", None))
            return
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        if name == b"data":
            self._data.append(text)
        elif name == b"event":
            self._name = text


def write_event(event: SseEvent) -> bytes:
    """Return the bytes of an event."""
    if event.data is None:
        return KEEP_ALIVE
    # A carriage return inside would end the line for a reader; JSON has it escaped.
    lines = event.data.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\ndata: ")
    name = " ".join(event.name.split())
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {lines}\n\n".encode("utf-8", "replace")
