"""What our two HTTP clients share: a pool of connections that is open inside an async context."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from types import TracebackType
from typing import Self

import aiohttp


class PooledClient:
    """Opens its pool on entering and closes it on leaving. May be entered again."""

    def __init__(self, open_pool: Callable[[], aiohttp.ClientSession]) -> None:
        self._open_pool = open_pool
        self._pool: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._pool = self._open_pool()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pool, self._pool = self._opened(), None
        await pool.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._pool is None:
            raise RuntimeError("the HTTP client is not open")
        return self._pool


def trusting(ca_file: str) -> ssl.SSLContext | bool:
    """Return a context with these authorities besides the machine's; true for its own alone."""
    if not ca_file:
        return True
    context = ssl.create_default_context()
    context.load_verify_locations(ca_file)
    return context
