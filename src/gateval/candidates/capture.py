"""What a program printed: the end of it in memory, and how much there was."""

from __future__ import annotations

LINE_WIDTH = 500
"""Characters kept of one line that is shown to a person."""


class Capture:
    """Keeps the last `keep` bytes of a stream and says when it was longer than `limit`."""

    def __init__(self, keep: int, limit: int) -> None:
        self._keep = keep
        self._limit = limit
        self._kept = bytearray()
        self.total = 0

    def add(self, chunk: bytes) -> None:
        """Take the next bytes of the stream."""
        self.total += len(chunk)
        self._kept += chunk
        if len(self._kept) > 2 * self._keep:  # not at every chunk: moving bytes costs
            del self._kept[: -self._keep]

    @property
    def over(self) -> bool:
        """Whether the stream was longer than the limit."""
        return self.total > self._limit

    @property
    def data(self) -> bytes:
        """The last bytes, at most `keep`."""
        return bytes(self._kept[-self._keep :])

    def after(self, position: int) -> bytes:
        """What came after the first `position` bytes of the stream, as far as it is kept."""
        count = min(self.total - position, self._keep)
        return bytes(self._kept[-count:]) if count > 0 else b""


def last_lines(data: bytes, count: int, *, without: str = "") -> tuple[str, ...]:
    """Return the last `count` lines that are not blank, each cut at `LINE_WIDTH` characters.

    Lines that hold `without`, unless it is empty, are left out.
    """
    lines = data.decode("utf-8", "replace").splitlines()
    shown = [
        line.rstrip()[:LINE_WIDTH]
        for line in lines
        if line.strip() and not (without and without in line)
    ]
    return tuple(shown[-count:]) if count > 0 else ()
