"""An end that leaves no connection half made, for the servers that run in the tests' process."""

from __future__ import annotations

import asyncio


async def settled(turns: int = 10) -> None:
    """Let the loop turn, so that it makes what it accepted and closes what was aborted.

    A connection that is lost between the two stays open behind the loop, and Python's collector
    tells so in whatever test runs then.
    """
    for _ in range(turns):
        await asyncio.sleep(0)
