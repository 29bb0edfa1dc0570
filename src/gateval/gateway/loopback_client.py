"""HTTP to candidates that are servers: untrusted peers on loopback addresses.

No proxy, no cookies, no redirects, no decompression, a connection for each request, and limits on
time, on the size of the answer, and (aiohttp's own) on its headers.
"""

from __future__ import annotations

import errno
import io
import socket
from contextvars import ContextVar

import aiohttp
from yarl import URL

from gateval.domain.text import beginning, quote
from gateval.gateway.peers import Allowed, NotTheirs, Peers, owned_by
from gateval.gateway.upstream.http_client import LookingConnector, PooledClient
from gateval.ports.model_calls import LocalHttpError, LocalReply, LocalRequest, NoPortLeft, Owner

LOOPBACK = frozenset({"127.0.0.1", "::1"})

_SESSION_LIMIT = 1_000
"""Characters of a session's name."""

_OWNER = ContextVar[Owner | None]("owner", default=None)
"""Whom the request of this task is meant for; a connection is made in the task that asks."""

_HEADERS = {"Accept-Encoding": "identity", "User-Agent": "gateval"}


class LoopbackClient(PooledClient):
    """Fulfils `ports.local_http.LocalHttp`. Use it as an async context manager."""

    def __init__(self) -> None:
        self._peers = Peers()
        self._allowed: dict[Owner, Allowed] = {}
        super().__init__(
            lambda: aiohttp.ClientSession(
                connector=LookingConnector(
                    self._look, force_close=True, limit=0, use_dns_cache=False
                ),
                trust_env=False,
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=_HEADERS,
            )
        )

    async def _look(self, made: socket.socket) -> None:
        owner = _OWNER.get()
        if owner is not None:
            allowed = self._allowed.setdefault(owner, owned_by(owner))
            await self._peers.check(made, allowed)

    async def ask(
        self,
        host: str,
        port: int,
        request: LocalRequest,
        *,
        seconds: float,
        limit: int,
        owner: Owner | None = None,
    ) -> LocalReply:
        """See `ports.local_http.LocalHttp`."""
        if host not in LOOPBACK:
            raise RuntimeError("not a loopback address")
        _OWNER.set(owner)
        path, _, query = request.target.partition("?")
        shown = f"[{host}]" if ":" in host else host
        url = URL.build(
            scheme="http", host=shown, port=port, path=path, query_string=query, encoded=True
        )
        try:
            async with self._opened().request(
                request.method,
                url,
                data=None if request.body is None else io.BytesIO(request.body),
                headers=request.headers,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=seconds),
            ) as response:
                return await _reply(response, limit)
        except NotTheirs as error:
            raise LocalHttpError(f"{error}: another program has taken it")
        except TimeoutError:
            raise LocalHttpError(f"did not answer within {seconds:g} s", late=True)
        except aiohttp.ClientConnectorError as error:
            if error.os_error.errno == errno.EADDRNOTAVAIL:
                raise NoPortLeft
            why = error.os_error.strerror or type(error.os_error).__name__
            raise LocalHttpError(f"cannot be reached ({why})", refused=True)
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError):
            raise LocalHttpError("closed the connection before its answer was complete")
        except aiohttp.ClientResponseError as error:
            raise LocalHttpError(f"sent no usable HTTP ({quote(beginning(error.message))})")
        except (aiohttp.ClientError, ValueError) as error:
            raise LocalHttpError(f"sent no usable HTTP ({type(error).__name__})")


async def _reply(response: aiohttp.ClientResponse, limit: int) -> LocalReply:
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding.lower() != "identity":
        raise LocalHttpError(
            f"compressed its answer ({quote(beginning(encoding))}), which was not asked for"
        )
    too_long = LocalHttpError(f"answered with more than {limit:,} bytes")
    if (response.content_length or 0) > limit:
        raise too_long
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > limit:
            raise too_long
    return LocalReply(
        status=response.status,
        content_type=response.headers.get("Content-Type", ""),
        body=bytes(body),
        location=response.headers.get("Location", ""),
        session=response.headers.get("Mcp-Session-Id", "")[:_SESSION_LIMIT],
    )
