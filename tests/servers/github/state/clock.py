"""The time that GitHub writes into its records: fixed, and always moving on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class Clock:
    """Gives each record a time one second after the one before, so that their order is plain."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 5, 10, tzinfo=UTC)

    def tick(self) -> str:
        """Move on by a second and return the time as GitHub writes it."""
        self.forward(1)
        return self._now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def forward(self, seconds: int) -> None:
        """Let time pass."""
        self._now += timedelta(seconds=seconds)
