"""The output of a program: its end in memory, and how much there was."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

LINE_WIDTH = 500
"""Characters kept of one line that is shown to a person."""


class Capture:
    """Keeps the last `keep` bytes of a stream and says when it was longer than `limit`."""

    def __init__(self, keep: int, limit: int) -> None:
        self._keep = keep
        self._limit = limit
        self._kept = bytearray()
        self._waiting: list[asyncio.Future[None]] = []
        self.total = 0

    def add(self, chunk: bytes) -> None:
        """Take the next bytes of the stream."""
        self.total += len(chunk)
        self._kept += chunk
        if len(self._kept) > 2 * self._keep:  # not at every chunk: moving bytes costs
            del self._kept[: -self._keep]
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def more(self) -> asyncio.Future[None]:
        """Return what is done when there are more bytes, or the stream has ended."""
        import asyncio  # what `plan` imports does without it

        self._waiting.append(asyncio.get_running_loop().create_future())
        return self._waiting[-1]

    @property
    def over(self) -> bool:
        """Whether the stream was longer than the limit."""
        return self.total > self._limit

    @property
    def data(self) -> bytes:
        """The last bytes, at most `keep`."""
        return bytes(self._kept[-self._keep :])

    def after(self, position: int) -> bytes:
        """Return the stream behind its first `position` bytes, as far as it is kept."""
        count = min(self.total - position, self._keep)
        return bytes(self._kept[-count:]) if count > 0 else b""


def last_lines(data: bytes, count: int, *, polls: str = "") -> tuple[str, ...]:
    """Return the last `count` lines that are not blank, each cut at `LINE_WIDTH` characters.

    With `polls`, which is how a log names a request that was made over and over, what it says of
    that is left out: lines that hold it, and repetitions that differ in nothing but digits.
    """
    lines = [line for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    if polls:
        rest = (line for line in lines if polls not in line)
        alikes = groupby(rest, key=lambda line: re.sub(r"[0-9]+", "0", line))
        lines = [next(alike) for _, alike in alikes]
    return tuple(line.rstrip()[:LINE_WIDTH] for line in lines[-count:]) if count > 0 else ()
