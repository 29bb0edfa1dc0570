"""One POST to a provider: limits on size and time, no redirects, no context trusted.

`trust_env` stays off, because it would also read `~/.netrc`; a forward proxy is part of the
`Upstream`. POST is never repeated by the library itself, so each attempt here is one request.
"""

from __future__ import annotations

import io
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import aiohttp
from pydantic import Field

from gateval.domain.base import Value
from gateval.domain.setup.authorities import CERTIFICATE_HINT
from gateval.domain.trials.input_call import InputReply
from gateval.domain.trials.model_call import ModelReply
from gateval.gateway.peers import Allowed, NotTheirs, Peers
from gateval.gateway.upstream.pinned import PinnedResolver, Pins
from gateval.gateway.upstream.pooled_client import LookingConnector, PooledClient, trusting
from gateval.gateway.upstream.retry import Transient, Unreached

ANSWER_LIMIT = 20 * 1024 * 1024
"""Bytes read of an answer, after decompression."""

SENT_AT_ONCE = 1024 * 1024
"""Bytes of a body that are handed to the socket in one piece."""

READ_AHEAD = 16 * 1024
"""Bytes of an answer that wait in memory while nobody takes them (the library doubles it)."""

CONNECTIONS = 512
"""Connections open at once; the engine's own limits are far below."""


class Timeouts(Value):
    """Seconds: `connect` for a connection, `answer` for a whole attempt, connection included.

    Of a stream, `answer` is the longest wait for its next piece.
    """

    connect: float = Field(default=10, gt=0)
    answer: float = Field(default=300, gt=0)

    @property
    def attempt(self) -> float:
        """Longer than any attempt takes that is no stream."""
        return self.connect + self.answer


class ReceivedResponse(NamedTuple):
    """A provider's response: any status, the decompressed body, and its headers.

    `reply` is what a success says, once somebody has read it; `measured` if it was asked to measure
    texts.
    """

    status: int
    body: bytes
    headers: Mapping[str, str]
    reply: ModelReply | None = None
    measured: InputReply | None = None


class Unanswerable(Exception):
    """No sensible answer will come however often we ask. The text is a sentence."""


class Untrusted(Unanswerable):
    """Nobody whom we trust has signed the provider's certificate."""


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

    async def open(
        self, url: str, *, headers: Mapping[str, str], body: bytes, proxy: str | None
    ) -> ReceivedResponse | OpenStream:
        """Send `body` and return a stream that has begun, or the answer if it is none.

        Raises like `post`. The caller closes the stream.
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
        raise Unanswerable(f"{error}, so that nothing was sent")
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
