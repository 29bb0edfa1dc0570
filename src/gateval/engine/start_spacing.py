"""Keeps the starts of trials a little apart."""

from __future__ import annotations

import asyncio

APART_SECONDS = 0.0007
"""About what starting a trial costs the gate."""


class StartSpacing:
    """Lets one trial start after the other, in the order in which they ask.

    Trials that start together stay together: all their answers come at once, and each waits until
    all the others are dealt with, call after call. So a wave is spread again at every start.
    """

    def __init__(self, apart: float = APART_SECONDS) -> None:
        """Starts will be at least `apart` seconds from each other."""
        self._apart = apart
        self._free = 0.0

    async def turn(self) -> None:
        """Return when it is the caller's turn to start."""
        now = asyncio.get_running_loop().time()
        mine = max(now, self._free)
        self._free = mine + self._apart
        if mine > now:
            await asyncio.sleep(mine - now)
