"""TLS before a plain server on loopback, under a certificate of our own: a company's forge."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from pathlib import Path
from typing import Self

SETTLED_AFTER = 0.05
"""Seconds in which the loop ends connections whose clients are gone."""


class TlsFront:
    """Passes bytes on to `port`. `greetings` counts handshakes that were tried, `names` whom they
    named.
    """

    def __init__(self, port: int, certificate: Path) -> None:
        self._behind = port
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate)
        self._context.sni_callback = self._greeted
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(),), daemon=True)
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._open: set[asyncio.WriteTransport] = set()
        self._port = 0
        self.greetings = 0
        self.names: set[object] = set()

    @property
    def url(self) -> str:
        """Its address, by the name that the certificate is for."""
        return f"https://localhost:{self._port}"

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10), "the front did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _greeted(self, _: object, name: object, *__: object) -> None:
        self.greetings += 1
        self.names.add(name)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._pass, "127.0.0.1", 0, ssl=self._context)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        await asyncio.sleep(SETTLED_AFTER)
        server.close()
        for transport in self._open:
            transport.abort()
        await asyncio.sleep(SETTLED_AFTER)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._behind)
        self._open |= {writer.transport, back.transport}
        await asyncio.gather(_copy(reader, back), _copy(there, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()
