"""The HTTP library's server as we use it: bounded in every direction, and silent.

The library bounds headers (128 of 8 KB), pipelined requests and what it reads ahead of us. Here
are bodies, idle connections and the number of connections.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from gateval.gateway.local.connections import Connections

IDLE_SECONDS = 75.0
"""A connection without a request under way is closed after this time, headers included."""

LINGER_SECONDS = 1.0
"""Time that the rest of a refused body is read for, so that the answer can be read."""

# What a candidate sends must not reach the log of the job, where it could be a command to the
# runner; the library would log the bytes of a malformed request.
_LOGGER = logging.getLogger(__name__)
_LOGGER.setLevel(logging.CRITICAL + 1)

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class HttpServer(web.Server):
    """Answers each request by `handler`, and tells `connections` of every connection.

    A body has `body_limit` bytes at most, after decompression. A candidate that is gone must not
    go on costing tokens: the handler is cancelled when its connection is lost.
    """

    def __init__(self, handler: Handler, connections: Connections, *, body_limit: int) -> None:
        def request(
            message: RawRequestMessage,
            payload: StreamReader,
            protocol: RequestHandler,
            writer: AbstractStreamWriter,
            task: asyncio.Task[None],
        ) -> web.BaseRequest:
            loop = asyncio.get_running_loop()
            return web.BaseRequest(
                message, payload, protocol, writer, task, loop, client_max_size=body_limit
            )

        super().__init__(
            handler,
            request_factory=request,
            handler_cancellation=True,
            access_log=None,
            logger=_LOGGER,
            keepalive_timeout=IDLE_SECONDS,
            lingering_time=LINGER_SECONDS,
        )
        self._known = connections

    def connection_made(self, handler: Any, transport: asyncio.Transport) -> None:
        """Take note of a new connection; called by the library."""
        super().connection_made(handler, transport)
        self._known.opened(handler)

    def connection_lost(self, handler: Any, exc: BaseException | None = None) -> None:
        """Forget a connection; called by the library."""
        super().connection_lost(handler, exc)
        self._known.closed(handler)
