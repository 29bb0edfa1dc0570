"""Whether a provider still answers: one that has been down for long is not waited for call by call.

Each call is patient by itself, since providers hiccup. But a run makes thousands of calls, and if
nothing gets through, waiting for each of them helps nobody: then every call is tried once.
"""

from __future__ import annotations

import time
from collections.abc import Callable


class CircuitBreaker:
    """Watches one provider. `outage_seconds` is how long all calls may fail before it is down,
    in seconds; `clock` gives seconds that only grow.
    """

    def __init__(self, outage_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._outage_seconds = outage_seconds
        self._clock = clock
        self._failing_since: float | None = None

    def answered(self) -> None:
        """Note an answer, be it one that the caller does not like: the provider is there."""
        self._failing_since = None

    def failed(self) -> None:
        """Note a failure that may pass: an outage, a rate limit, a dropped connection."""
        if self._failing_since is None:
            self._failing_since = self._clock()

    def lost(self) -> bool:
        """Whether nothing has got through for too long. The next answer ends that."""
        since = self._failing_since
        return since is not None and self._clock() - since >= self._outage_seconds
