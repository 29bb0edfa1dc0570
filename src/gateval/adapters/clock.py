"""The real clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """Fulfils `ports.clock.Clock` with the time of this machine."""

    def monotonic(self) -> float:
        """Seconds that only grow, from an arbitrary start."""
        return time.monotonic()

    def utc_now(self) -> str:
        """The present to the second, e.g. `2026-11-20T09:30:00Z`."""
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
