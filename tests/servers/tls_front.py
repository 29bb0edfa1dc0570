"""TLS before a plain server on loopback, under a certificate of our own: a company's forge."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from pathlib import Path
from typing import Self


class TlsFront:
    """Passes bytes on to `port`. `greetings` counts handshakes that were tried."""

    def __init__(self, port: int, certificate: Path) -> None:
        self._behind = port
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self.greetings = 0

    @property
    def url(self) -> str:
        """Its address, by the name that the certificate is for."""
        assert self._server is not None
        return f"https://localhost:{self._server.sockets[0].getsockname()[1]}"

    def __enter__(self) -> Self:
        self._context.sni_callback = self._greeted
        self._thread.start()
        starting = asyncio.start_server(self._pass, "127.0.0.1", 0, ssl=self._context)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                self._loop.run_until_complete(task)
        if self._server is not None:
            self._server.close()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def _greeted(self, *_: object) -> None:
        self.greetings += 1

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._behind)
        await asyncio.gather(_copy(reader, back), _copy(there, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()
