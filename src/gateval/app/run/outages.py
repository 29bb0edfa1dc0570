"""Tells a person while trials run which models answer nobody."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from gateval.events import Listener, RunWarned
from gateval.gateway.door import Gateway

SAID_SECONDS = 25.0
"""After so long without any answer of a model a person is told."""

LOOK_SECONDS = 1.0


@contextlib.asynccontextmanager
async def outages_told(gateway: Gateway, listen: Listener) -> AsyncIterator[None]:
    """Tell of models that answer no call within, and when they do again."""

    async def look() -> None:
        told: set[str] = set()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            silent = gateway.silent
            for model, seconds in silent.items():
                if seconds >= SAID_SECONDS and model not in told:
                    listen(RunWarned(message=_silence(model, seconds, gateway.outage_seconds)))
                    told.add(model)
            for model in told - silent.keys():
                listen(RunWarned(message=f"{model} answers again."))
            told &= silent.keys()

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        looking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await looking


def _silence(model: str, seconds: float, longest: float) -> str:
    return (
        f"{model} has answered no call for {seconds:.0f} s. If nothing comes within "
        f"{longest / 60:g} minutes (policy.maxOutage), what needs it is not tried."
    )
