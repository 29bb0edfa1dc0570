"""What our two HTTP clients share: a pool of connections that is open inside an async context, and
a look at who is at the other end of each before its first byte.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

import aiohappyeyeballs
import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest


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


class LookingConnector(aiohttp.TCPConnector):
    """Has `look` at each fresh connection: before TLS, and before anything is said.

    What it raises ends the attempt. aiohttp offers no hook there, so this stands in for the step
    that connects (docs/adr/0067). Raises `RuntimeError` for an aiohttp that has no such step.
    """

    def __init__(self, look: Callable[[socket.socket], Awaitable[None]], **options: Any) -> None:
        if not hasattr(aiohttp.TCPConnector, "_wrap_create_connection"):
            raise RuntimeError("this version of aiohttp connects in another way")
        super().__init__(**options)
        self._look = look

    async def _wrap_create_connection(
        self,
        *args: Any,
        addr_infos: list[aiohappyeyeballs.AddrInfoType],
        req: ClientRequest,
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - as aiohttp calls it
        client_error: type[Exception] = aiohttp.ClientConnectorError,
        **kwargs: Any,
    ) -> tuple[asyncio.Transport, ResponseHandler]:
        try:
            async with asyncio.timeout(timeout.sock_connect):
                made = await aiohappyeyeballs.start_connection(
                    addr_infos, happy_eyeballs_delay=self._happy_eyeballs_delay
                )
        except TimeoutError:
            raise aiohttp.ConnectionTimeoutError
        except OSError as error:
            raise client_error(req.connection_key, error) from error
        try:
            await self._look(made)
        except BaseException:
            made.close()
            raise
        return await self._wrap_existing_connection(
            *args, req=req, timeout=timeout, client_error=client_error, sock=made, **kwargs
        )


def trusting(ca_file: str) -> ssl.SSLContext | bool:
    """Return a context with these authorities besides the machine's; true for its own alone."""
    if not ca_file:
        return True
    context = ssl.create_default_context()
    context.load_verify_locations(ca_file)
    return context
