"""Notices that a model answers nobody: then one call at a time tries it, and the others wait.

If that goes on for too long the model is given up, for the rest of the run: thousands of calls that
wait for it one after the other help nobody.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from gateval.gateway.places import aside

HANG_SECONDS = 10.0
"""An attempt that nobody waits for any longer counts as failed if it took this long."""

DOWN_SECONDS = 30.0
"""So long all calls of a model fail before they are no longer made side by side."""

PROBE_SECONDS = 5.0
"""So far apart are the calls that try a model which is down."""


QUIET_SECONDS = 90.0
"""An outage begins anew where nobody asked for so long since the latest failure."""


class CircuitBreaker:
    """Watches one model. `outage_seconds` is how long all calls may fail before it is given up;
    `clock` gives seconds that only grow.

    Attributes: `lost` says that it is given up, `latest` how the latest call failed.
    """

    def __init__(self, outage_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._outage_seconds = outage_seconds
        self._down_seconds = min(DOWN_SECONDS, outage_seconds / 2)
        self._apart = min(PROBE_SECONDS, outage_seconds / 10)
        self._clock = clock
        self._failing_since: float | None = None
        self._asked_since: float | None = None
        self._open = 0
        self._next_probe = 0.0
        self._change = asyncio.Event()
        self._failed_at = 0.0
        self.lost = False
        self.latest = "did not answer in time"

    async def admitted(self) -> bool:
        """Return whether an attempt may be made, once its turn has come; false where the model was
        given up. The caller ends one that may by `answered`, `failed`, `given_up` or `withdrawn`.
        """
        while (since := self._failing_since) is not None or self.lost:
            now = self._clock()
            hung = since is not None and self._open and now - since >= self._outage_seconds
            if self.lost or hung:
                self.lost = True
                return False
            if since is None or now - since < self._down_seconds:
                break
            if not self._open and now >= self._next_probe:
                self._next_probe = now + self._apart
                break
            await aside(self._changed(max(self._next_probe - now, self._apart)))
        self._open += 1
        return True

    def begin(self) -> float:
        """Note that an attempt that was admitted begins, and return when that is."""
        now = self._clock()
        if self._asked_since is None:
            self._asked_since = now
        return now

    def withdrawn(self) -> None:
        """Note that an attempt that was admitted was not begun."""
        self._open -= 1

    async def _changed(self, seconds: float) -> None:
        """Return when the model has answered, or after so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._change.wait()
        except TimeoutError:
            pass

    def answered(self) -> None:
        """Note an answer, be it one that the caller does not like: the provider is there."""
        self._open -= 1
        if self._failing_since is not None:
            self._change.set()
            self._change = asyncio.Event()
        self._failing_since = self._asked_since = None

    def failed(self, began: float, how: str = "did not answer in time") -> None:
        """Note a failure that may pass: an outage, a rate limit, a dropped connection. `how` goes
        on after the provider's name.
        """
        self.latest = how
        self._open -= 1
        now, since = self._clock(), self._failing_since
        unasked = began - self._failed_at > QUIET_SECONDS
        if since is None or began < since or unasked:
            self._failing_since = since = began
        self._failed_at = now
        self.lost = self.lost or now - since >= self._outage_seconds

    def given_up(self, began: float) -> None:
        """Note that nobody waits any longer for an attempt without an answer: maybe it hung."""
        if self._clock() - began >= HANG_SECONDS:
            self.failed(began)
        else:
            self._open -= 1
            self._asked_since = self._asked_since if self._open else None

    def silent(self) -> float:
        """For how many seconds calls have failed, or hung, and none was answered."""
        since = self._failing_since
        if since is None and self._open and self._asked_since is not None:
            hung = self._clock() - self._asked_since >= HANG_SECONDS
            since = self._asked_since if hung else None
        return 0.0 if since is None else self._clock() - since
