"""When trials start that could start together."""

from __future__ import annotations

import asyncio

APART_SECONDS = 0.0007
"""About what starting a trial costs the gate."""


class StartSpacing:
    """Lets one trial start after the other, in the order in which they ask.

    Trials that start together stay together: all their answers come at once, and each waits until
    all the others are dealt with, call after call. So a wave is spread again at every start; where
    answers are so fast that places would stay empty for it, less.
    """

    def __init__(self, places: int, apart: float = APART_SECONDS) -> None:
        """Starts will be at most `apart` seconds from each other; trials have so many `places`."""
        self._places = places
        self._apart = apart
        self._shortest = 0.0
        self._free = 0.0

    async def turn(self) -> float:
        """Return when it is the caller's turn to start."""
        now = asyncio.get_running_loop().time()
        mine = max(now, self._free)
        self._free = mine + self._apart
        if mine > now:
            await asyncio.sleep(mine - now)
        return mine

    def ended(self, began: float) -> None:
        """Note that a trial is over: half of what one takes is enough for a whole wave."""
        seconds = asyncio.get_running_loop().time() - began
        self._shortest = min(seconds, self._shortest or seconds)
        self._apart = min(self._apart, self._shortest / self._places / 2)
