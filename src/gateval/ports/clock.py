"""Time, as the inner rooms ask for it."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time. `monotonic` in seconds for durations; `utc_now` as ISO 8601 with `Z`."""

    def monotonic(self) -> float:
        """Seconds that only grow."""

    def utc_now(self) -> str:
        """The present, e.g. `2026-11-20T09:30:00Z`."""
