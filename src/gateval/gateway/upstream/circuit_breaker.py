"""Whether a model still answers: one that has been down for long is not waited for call by call.

Each call is patient by itself, since providers hiccup. But a run makes thousands of calls, and if
nothing gets through, waiting for each of them helps nobody: then one call at a time is tried, once,
and all others fail at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable

HANG_SECONDS = 10.0
"""An attempt that nobody waits for any longer counts as failed if it took this long."""


class CircuitBreaker:
    """Watches one model. `outage_seconds` is how long all calls may fail before it is down, in
    seconds; `clock` gives seconds that only grow.
    """

    def __init__(self, outage_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._outage_seconds = outage_seconds
        self._clock = clock
        self._failing_since: float | None = None
        self._probes = 0

    def begin(self) -> float | None:
        """Admit an attempt and return when it begins; None if it must not be made. The
        caller ends an admitted attempt by `answered`, `failed` or `given_up`.
        """
        if self.lost() and self._probes:
            return None
        self._probes += 1
        return self._clock()

    def answered(self) -> None:
        """Note an answer, be it one that the caller does not like: the provider is there."""
        self._probes -= 1
        self._failing_since = None

    def failed(self, began: float) -> None:
        """Note a failure that may pass: an outage, a rate limit, a dropped connection."""
        self._probes -= 1
        if self._failing_since is None or began < self._failing_since:
            self._failing_since = began

    def given_up(self, began: float) -> None:
        """Note that nobody waits any longer for an attempt without an answer: maybe it hung."""
        if self._clock() - began >= HANG_SECONDS:
            self.failed(began)
        else:
            self._probes -= 1

    def lost(self) -> bool:
        """Whether nothing has got through for too long. The next answer ends that."""
        since = self._failing_since
        return since is not None and self._clock() - since >= self._outage_seconds
