"""One POST to a provider: pinned names, limits on size and time, no redirects, no context
trusted.

`trust_env` stays off, because it would also read `~/.netrc`; a forward proxy is part of the
`Upstream`. POST is never repeated by the library itself, so each attempt here is one request.

Resolved anew for each connection, `localhost` leads to `[::1]` once somebody listens there, who is
then sent a key. A name that leads off this machine is resolved as ever, but is not followed back to
it.
"""

from __future__ import annotations

import asyncio
import io
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Self

import aiohappyeyeballs
import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest
from aiohttp.resolver import ThreadedResolver
from pydantic import Field

from gateval.domain.base import Value
from gateval.domain.trials.model_call import InputReply, ModelReply
from gateval.errors import CERTIFICATE_HINT
from gateval.gateway.peers import Allowed, NotTheirs, Peers, ResetPeer, is_own, plain_address
from gateval.gateway.upstream.endpoints import place_of
from gateval.gateway.upstream.retry import (
    Misled,
    Transient,
    Unanswerable,
    Unreached,
    Untrusted,
)


class PooledClient:
    """Opens its pool on entering and closes it on leaving. May be entered again."""

    def __init__(self, open_pool: Callable[[], aiohttp.ClientSession]) -> None:
        self._open_pool = open_pool
        self._pool: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._pool = self._open_pool()
        return self

    async def __aexit__(self, *_: object) -> None:
        pool, self._pool = self._opened(), None
        await pool.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._pool is None:
            raise RuntimeError("the HTTP client is not open")
        return self._pool


CONNECTIONS_TRIED = 3
"""Connections that a call makes at most, where each is reset while it is looked at."""


class LookingConnector(aiohttp.TCPConnector):
    """Has `look` at each fresh connection: before TLS, and before anything is said.

    What it raises ends the attempt; only after `ResetPeer` it connects anew, a few times. aiohttp
    offers no hook there, so this stands in for the step that connects (docs/adr/0067). Raises
    `RuntimeError` for an aiohttp that has no such step.
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
        for tries_left in reversed(range(CONNECTIONS_TRIED)):
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
                break
            except BaseException as error:
                made.close()
                if not isinstance(error, ResetPeer) or not tries_left:
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


RESOLVE_SECONDS = 2.0
"""How long a name is waited for at the start. One that means this machine is known at once."""

CONNECT_SECONDS = 1.0

Pins = Mapping[tuple[str, int], tuple[str, ...]]
"""The addresses of names, by name and port, that mean this machine: the first that answered."""


async def pins_of(urls: Iterable[str]) -> Pins:
    """Return what the hosts of these URLs mean, of those that mean this machine."""
    places = {place_of(url) for url in urls}
    named = sorted(place for place in places if place[0] and not plain_address(place[0]))
    found = await asyncio.gather(*(_pin(host, port) for host, port in named))
    return {place: pinned for place, pinned in zip(named, found, strict=True) if pinned}


class PinnedResolver(AbstractResolver):
    """Resolves by `pins`, else as ever. Raises `NotTheirs` for a name that has moved to here."""

    def __init__(self, pins: Pins) -> None:
        self._pins = pins
        self._names = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """See aiohttp."""
        pinned = self._pins.get((host.lower().rstrip("."), port))
        if pinned is not None:
            own: list[ResolveResult] = []
            for address in pinned:
                family = socket.AF_INET6 if ":" in address else socket.AF_INET
                told = ResolveResult(
                    hostname=host,
                    host=address,
                    port=port,
                    family=family,
                    proto=0,
                    flags=socket.AI_NUMERICHOST,
                )
                own.append(told)
            return own
        found = await self._names.resolve(host, port, family)
        kept = [one for one in found if not _means_here(one["host"])]
        if not kept:
            raise NotTheirs("did not lead to this machine when the run began, and does now")
        return kept

    async def close(self) -> None:
        """See aiohttp."""
        await self._names.close()


def leads_here(url: str) -> bool:
    """Whether a URL names an address of this machine in digits."""
    return _means_here(place_of(url)[0])


async def _pin(host: str, port: int) -> tuple[str, ...]:
    loop = asyncio.get_running_loop()
    with suppress(OSError, UnicodeError, TimeoutError):
        async with asyncio.timeout(RESOLVE_SECONDS):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = tuple(dict.fromkeys(str(one[4][0]) for one in found))
        own = tuple(one for one in addresses if _means_here(one))
        if own:
            for one in own:
                with suppress(OSError, TimeoutError):
                    async with asyncio.timeout(CONNECT_SECONDS):
                        _, writer = await asyncio.open_connection(one, port)
                    writer.close()
                    return (one,)
            return own
    return ()


def _means_here(address: str) -> bool:
    plain = plain_address(address)
    return plain is not None and is_own(plain)


ANSWER_LIMIT = 20 * 1024 * 1024
"""Bytes read of an answer, after decompression."""

SENT_AT_ONCE = 1024 * 1024
"""Bytes of a body that are handed to the socket in one piece."""

READ_AHEAD = 16 * 1024
"""Bytes of an answer that wait in memory while nobody takes them (the library doubles it)."""

CONNECTIONS = 512
"""Connections open at once; the engine's own limits are far below."""


class Timeouts(Value):
    """Seconds: `connect` for a connection, `answer` for a whole attempt, connection included. Of a
    stream, `answer` is the longest wait for its next piece.
    """

    connect: float = Field(default=10, gt=0)
    answer: float = Field(default=300, gt=0)

    @property
    def attempt(self) -> float:
        """Longer than any attempt takes that is no stream."""
        return self.connect + self.answer


class ReceivedResponse(NamedTuple):
    """A provider's response: any status, the decompressed body, and its headers. `reply` is what a
    success says, once somebody has read it; `measured` if it was asked to measure texts.
    """

    status: int
    body: bytes
    headers: Mapping[str, str]
    reply: ModelReply | None = None
    measured: InputReply | None = None


class HttpClient(PooledClient):
    """Posts to providers. Use it as an async context manager.

    `ca_file` holds authorities to trust besides the machine's, in PEM; empty for none. `pins` are
    the names that mean this machine, and `allowed` who may answer on it; None where no candidate
    runs beside this.
    """

    def __init__(
        self,
        timeouts: Timeouts,
        ca_file: str = "",
        *,
        pins: Pins | None = None,
        allowed: Allowed | None = None,
    ) -> None:
        self._timeouts = timeouts
        whole = aiohttp.ClientTimeout(
            total=timeouts.answer, connect=None, sock_connect=timeouts.connect
        )
        self._by_pieces = aiohttp.ClientTimeout(
            total=None, sock_connect=timeouts.connect, sock_read=timeouts.answer
        )

        def connector() -> aiohttp.TCPConnector:
            if allowed is None:
                return aiohttp.TCPConnector(limit=CONNECTIONS, ssl=trusting(ca_file))
            peers = Peers()

            async def look(made: socket.socket) -> None:
                await peers.check(made, allowed)

            return LookingConnector(
                look, limit=CONNECTIONS, ssl=trusting(ca_file), resolver=PinnedResolver(pins or {})
            )

        super().__init__(
            lambda: aiohttp.ClientSession(
                connector=connector(),
                timeout=whole,
                read_bufsize=READ_AHEAD,
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"Content-Type": "application/json", "User-Agent": "gateval"},
            )
        )

    async def post(
        self, url: str, *, headers: Mapping[str, str], body: bytes, proxy: str | None
    ) -> ReceivedResponse:
        """Send `body` and return the answer, whatever its status.

        Raises `Transient` for what may pass (drops, time-outs) and `Unanswerable` for what will
        not (a bad certificate, an answer that is no HTTP or beyond `ANSWER_LIMIT`).
        """
        with _in_sentences(self._timeouts):
            async with self._opened().post(
                url, data=_payload(body), headers=headers, proxy=proxy, allow_redirects=False
            ) as response:
                return await _whole(response)

    async def get(
        self, url: str, *, headers: Mapping[str, str], proxy: str | None
    ) -> ReceivedResponse:
        """Return the answer, whatever its status. Raises like `post`."""
        with _in_sentences(self._timeouts):
            async with self._opened().get(
                url, headers=headers, proxy=proxy, allow_redirects=False
            ) as response:
                return await _whole(response)

    async def open(
        self, url: str, *, headers: Mapping[str, str], body: bytes, proxy: str | None
    ) -> ReceivedResponse | OpenStream:
        """Send `body` and return a stream that has begun, or the answer if it is none. Raises like
        `post`. The caller closes the stream.
        """
        with _in_sentences(self._timeouts):
            response = await self._opened().post(
                url, data=_payload(body), headers=headers, proxy=proxy, allow_redirects=False,
                timeout=self._by_pieces,
            )  # fmt: skip
            first = b""
            try:
                if response.status != 200 or response.content_type != "text/event-stream":
                    return await _whole(response)
                first = await response.content.readany()
                if first:
                    return OpenStream(response, first, self._timeouts)
            finally:
                if not first:
                    response.close()
        raise Transient("closed the connection before its answer began")


class OpenStream:
    """An answer that comes in pieces; its first piece is here."""

    def __init__(self, response: aiohttp.ClientResponse, first: bytes, timeouts: Timeouts) -> None:
        self._response = response
        self._first = first
        self._timeouts = timeouts

    async def pieces(self) -> AsyncIterator[bytes]:
        """Give the decompressed pieces as they come. Raises like `HttpClient.post`."""
        with _in_sentences(self._timeouts):
            yield self._first
            size = len(self._first)
            async for piece in self._response.content.iter_any():
                size += len(piece)
                if size > ANSWER_LIMIT:
                    raise _too_long()
                yield piece

    def close(self) -> None:
        """End it. The connection is kept for other calls if all of it was read."""
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()


@contextmanager
def _in_sentences(timeouts: Timeouts) -> Iterator[None]:
    """Turn what goes wrong in a request into `Transient` or `Unanswerable`."""
    try:
        yield
    except NotTheirs as error:
        raise Misled(f"{error}, so that nothing was sent")
    except aiohttp.ConnectionTimeoutError:
        raise Unreached(f"cannot be reached within {timeouts.connect:g} s")
    except TimeoutError:
        raise Transient(f"did not answer within {timeouts.answer:g} s")
    except aiohttp.ClientSSLError as error:
        raise Untrusted(f"has no certificate that we trust ({_reason(error)}). {CERTIFICATE_HINT}")
    except aiohttp.ClientConnectorError as error:
        raise Unreached(f"cannot be reached ({_reason(error)})")
    except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError):
        raise Transient("closed the connection before its answer was complete")
    except aiohttp.ClientError as error:
        raise Unanswerable(f"sent no HTTP answer ({type(error).__name__})")


def _payload(body: bytes) -> bytes | io.BytesIO:
    """Return long bodies in a form that is sent in pieces, so that other calls go on meanwhile."""
    return body if len(body) <= SENT_AT_ONCE else io.BytesIO(body)


async def _whole(response: aiohttp.ClientResponse) -> ReceivedResponse:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > ANSWER_LIMIT:
            raise _too_long()
    return ReceivedResponse(response.status, bytes(body), response.headers)


def _too_long() -> Unanswerable:
    return Unanswerable(f"sent more than {ANSWER_LIMIT // 1024 // 1024} MB")


def _reason(error: aiohttp.ClientConnectorError) -> str:
    return error.os_error.strerror or type(error.os_error).__name__
