"""One POST to a provider: limits on size and time, no redirects, no surroundings trusted.

`trust_env` stays off, because it would also read `~/.netrc`; a forward proxy is part of the
`Upstream`. POST is never repeated by the library itself, so each attempt here is one request.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from types import TracebackType
from typing import NamedTuple, Self

import aiohttp
from pydantic import Field

from gateval.domain.base import Value
from gateval.gateway.retry import Transient

ANSWER_LIMIT = 20 * 1024 * 1024
"""Bytes read of an answer, after decompression."""

SENT_AT_ONCE = 1024 * 1024
"""Bytes of a body that are handed to the socket in one piece."""

CONNECTIONS = 512
"""Connections open at once; the engine's own limits are far below."""


class Timeouts(Value):
    """Seconds: `connect` for a connection, `answer` for a whole attempt, connection included."""

    connect: float = Field(default=10, gt=0)
    answer: float = Field(default=300, gt=0)


class Answer(NamedTuple):
    """What came back: any status, the decompressed body, and the headers of the provider."""

    status: int
    body: bytes
    headers: Mapping[str, str]


class Unanswerable(Exception):
    """No sensible answer will come however often we ask. The text is a sentence."""


class HttpClient:
    """A pool of connections. Use it as an async context manager."""

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        limits = aiohttp.ClientTimeout(
            total=self._timeouts.answer, connect=None, sock_connect=self._timeouts.connect
        )
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS),
            timeout=limits,
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Content-Type": "application/json", "User-Agent": "gateval"},
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def post(
        self, url: str, *, headers: Mapping[str, str], body: bytes, proxy: str | None
    ) -> Answer:
        """Send `body` and return the answer, whatever its status.

        Raises `Transient` for what may pass (drops, time-outs) and `Unanswerable` for what will
        not (a bad certificate, an answer that is no HTTP or beyond `ANSWER_LIMIT`).
        """
        if self._session is None:
            raise RuntimeError("the HTTP client is not open")
        try:
            async with self._session.post(
                url, data=_payload(body), headers=headers, proxy=proxy, allow_redirects=False
            ) as response:
                return Answer(response.status, await _read(response), response.headers)
        except aiohttp.ConnectionTimeoutError:
            raise Transient(f"cannot be reached within {self._timeouts.connect:g} s")
        except TimeoutError:
            raise Transient(f"did not answer within {self._timeouts.answer:g} s")
        except aiohttp.ClientSSLError as error:
            raise Unanswerable(f"has no certificate that we trust ({_reason(error)})")
        except aiohttp.ClientConnectorError as error:
            raise Transient(f"cannot be reached ({_reason(error)})")
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError):
            raise Transient("closed the connection before its answer was complete")
        except aiohttp.ClientError as error:
            raise Unanswerable(f"sent no HTTP answer ({type(error).__name__})")


def _payload(body: bytes) -> bytes | io.BytesIO:
    """Return long bodies in a form that is sent in pieces, so that other calls go on meanwhile."""
    return body if len(body) <= SENT_AT_ONCE else io.BytesIO(body)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > ANSWER_LIMIT:
            raise Unanswerable(f"sent more than {ANSWER_LIMIT // 1024 // 1024} MB")
    return bytes(body)


def _reason(error: aiohttp.ClientConnectorError) -> str:
    return error.os_error.strerror or type(error.os_error).__name__
