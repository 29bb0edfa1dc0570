"""The two ways to an MCP server that a trial has running: its standard streams, or HTTP."""

from __future__ import annotations

from abc import ABC, abstractmethod

from gateval.candidates.process.program import MIB, Ran
from gateval.candidates.process.running import Running
from gateval.candidates.serving.instance import Instance
from gateval.ports.local_http import LocalHttpError, LocalRequest
from gateval.wire import mcp_client as mcp
from gateval.wire.base import WireError
from gateval.wire.sse import SseReader

MESSAGE_LIMIT = 4 * MIB
"""Bytes of one message of a server."""

CALL_SECONDS = 120.0
"""How long one answer over HTTP is waited for."""


class TransportError(Exception):
    """No answer came. The text is a clause to be put after `The MCP server x`."""


class McpTransport(ABC):
    """Carries one request after the other to a server, which its maker has to `stop`."""

    @abstractmethod
    async def ask(self, number: int, message: bytes) -> mcp.Heard:
        """Send the request `number` and return its answer. Raises `TransportError`."""

    @abstractmethod
    async def tell(self, message: bytes) -> None:
        """Send a notification. Raises `TransportError`."""

    def speak(self, version: str) -> None:  # noqa: B027 - only HTTP says it again and again
        """Take the version that was agreed on."""

    @abstractmethod
    async def stop(self) -> Ran:
        """End the server; return how it ended. May be called again."""


class Streams(McpTransport):
    """A line of JSON on standard input, a line of JSON on standard output."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._read = 0

    async def ask(self, number: int, message: bytes) -> mcp.Heard:
        """See `McpTransport`. Passes over lines that are no message: some servers greet there."""
        await self.tell(message)
        while True:
            line = await self._running.line(self._read)
            if self._running.stdout.total - self._read > MESSAGE_LIMIT:
                raise TransportError(f"sent more than {MESSAGE_LIMIT // MIB} MiB at once")
            if not line.endswith(b"\n"):
                raise TransportError("ended while it was asked")
            self._read += len(line)
            try:
                heard = mcp.heard(line)
            except WireError:
                continue
            if heard.method:
                if (answer := mcp.refused(heard)) is not None:
                    await self.tell(answer)
            elif heard.id == number:
                return heard

    async def tell(self, message: bytes) -> None:
        """See `McpTransport`."""
        self._running.tell(message + b"\n")

    async def stop(self) -> Ran:
        """See `McpTransport`."""
        return await self._running.stop()


class Http(McpTransport):
    """Streamable HTTP: a POST for each message, answered by JSON or by a stream that ends."""

    def __init__(self, instance: Instance, path: str) -> None:
        self._instance = instance
        self._path = path
        self._session = self._version = ""

    async def ask(self, number: int, message: bytes) -> mcp.Heard:
        """See `McpTransport`."""
        kind, body = await self._post(message)
        bodies = [body]
        if kind.partition(";")[0].strip().lower() == "text/event-stream":
            events = SseReader().feed(body + b"\n\n")
            bodies = [one.data.encode() for one in events if one.data is not None]
        for one in bodies:
            try:
                heard = mcp.heard(one)
            except WireError as error:
                raise TransportError(f"sent no usable message ({error})") from None
            if not heard.method and heard.id == number:
                return heard
        raise TransportError("gave no answer")

    async def tell(self, message: bytes) -> None:
        """See `McpTransport`."""
        await self._post(message)

    def speak(self, version: str) -> None:
        """See `McpTransport`."""
        self._version = version

    async def stop(self) -> Ran:
        """See `McpTransport`."""
        return await self._instance.stop()

    async def _post(self, message: bytes) -> tuple[str, bytes]:
        headers = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ]
        headers += [("Mcp-Session-Id", self._session)] if self._session else []
        headers += [("MCP-Protocol-Version", self._version)] if self._version else []
        request = LocalRequest("POST", self._path, tuple(headers), message)
        try:
            reply = await self._instance.ask(request, seconds=CALL_SECONDS, limit=MESSAGE_LIMIT)
        except LocalHttpError as error:
            raise TransportError(error.message) from None
        if not 200 <= reply.status < 300:
            raise TransportError(f"answered POST {self._path} with status {reply.status}")
        self._session = reply.session or self._session
        return reply.content_type, reply.body
