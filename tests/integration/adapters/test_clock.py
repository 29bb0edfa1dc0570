from __future__ import annotations

import time
from datetime import UTC, datetime

from gateval.adapters.machine import SystemClock
from gateval.ports.storage import Clock


def test_the_present_is_written_in_utc_to_the_second() -> None:
    clock: Clock = SystemClock()
    before = datetime.now(UTC).replace(microsecond=0)
    now = clock.utc_now()
    assert len(now) == len("2026-11-20T09:30:00Z")
    assert now.endswith("Z")
    assert before <= datetime.fromisoformat(now) <= datetime.now(UTC)


def test_durations_are_in_seconds() -> None:
    clock = SystemClock()
    start = clock.monotonic()
    time.sleep(0.01)
    assert 0.01 <= clock.monotonic() - start < 10
