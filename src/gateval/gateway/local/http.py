"""HTTP of the gateway's local server: the library's server as we use it, connections, replies.

The library bounds headers (128 of 8 KB), pipelined requests and what it reads ahead of us. Here
are bodies, idle connections and the number of connections.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections.abc import Awaitable, Callable, Hashable
from contextlib import aclosing
from typing import Any, Protocol

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from gateval.gateway.local.calls import Reply, Stream


async def write_stream(request: web.BaseRequest, stream: Stream) -> web.StreamResponse:
    """Send a stream as it comes; a candidate that does not read it holds up only itself."""
    headers = {
        "Server": "gateval",
        "Content-Type": "text/event-stream; charset=utf-8",
        "Cache-Control": "no-cache",
    }
    response = web.StreamResponse(headers=headers)
    async with aclosing(stream.pieces) as pieces:
        await response.prepare(request)
        async for piece in pieces:
            await response.write(piece)
        await response.write_eof()
    return response


def write_reply(reply: Reply) -> web.Response:
    """Return a reply; an SDK is told not to try again what the gate has tried."""
    headers = {"Server": "gateval"}
    if reply.status >= 400:
        # The gate has made its retries; an SDK that adds its own multiplies them.
        headers["x-should-retry"] = "false"
    return web.Response(
        status=reply.status, body=reply.body, content_type="application/json", headers=headers
    )


MOST = 512
"""Connections open at once, if the process may have twice as many files open."""


class Connection(Hashable, Protocol):
    """A connection as the HTTP library has it."""

    def force_close(self) -> None:
        """Close it at once."""


def connection_limit() -> int:
    """Return how many connections we take: half of the files we may open, and `MOST` at most."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(min(MOST, soft // 2), 8)


class Connections:
    """Knows every connection and the candidate that it belongs to, once its key has told.

    When there are too many, the peer with most of them loses one: the oldest that is not in use, so
    that a flood of connections costs its maker, and nobody else.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._owners: dict[Connection, object] = {}
        self._groups: dict[object, dict[Connection, bool]] = {}

    def __len__(self) -> int:
        return len(self._owners)

    def opened(self, connection: Connection) -> None:
        """Take note of a new connection, whose owner nobody knows yet."""
        self._put(connection, None)
        if len(self._owners) > self._limit:
            most = max(self._groups.values(), key=len)
            idle = (other for other, in_use in most.items() if not in_use)
            victim = next(idle, None) or next(reversed(most))
            self.closed(victim)
            victim.force_close()

    def claimed(self, connection: Connection, owner: object) -> None:
        """Take note of whose it is, and that it is in use."""
        if connection in self._owners:
            self._drop(connection)
            self._put(connection, owner)
            self._groups[owner][connection] = True

    def rests(self, connection: Connection) -> None:
        """Take note that it is not in use for now."""
        if connection in self._owners:
            self._groups[self._owners[connection]][connection] = False

    def closed(self, connection: Connection) -> None:
        """Forget it."""
        if connection in self._owners:
            self._drop(connection)

    def _put(self, connection: Connection, owner: object) -> None:
        self._owners[connection] = owner
        self._groups.setdefault(owner, {})[connection] = False

    def _drop(self, connection: Connection) -> None:
        owner = self._owners.pop(connection)
        group = self._groups[owner]
        del group[connection]
        if not group:
            del self._groups[owner]


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
