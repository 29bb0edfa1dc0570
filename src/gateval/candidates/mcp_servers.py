"""The MCP servers of one trial of a declarative agent: started, listed, asked, and ended."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

from gateval import __version__
from gateval.candidates.environment import instance_environment
from gateval.candidates.failures import command_line, no_start, told
from gateval.candidates.processes import Running
from gateval.candidates.program import MIB, NotStarted, Program, private_folders
from gateval.candidates.server import PRINTED_LIMIT, Instance, Launch, start_instance
from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import ToolServerSpec
from gateval.domain.trials.model_call import ToolDefinition
from gateval.domain.trials.trace import ToolAnswer
from gateval.domain.trials.trial import Cause, NoAnswer
from gateval.ports.model_calls import LocalHttpError, LocalRequest, NoPortLeft
from gateval.wire import mcp
from gateval.wire.base import SseReader, WireError

MESSAGE_LIMIT = 4 * MIB
"""Bytes of one message of a server."""

CALL_SECONDS = 120.0
"""How long one answer over HTTP is waited for."""


class TransportError(Exception):
    """No answer came. The text is a clause to be put after `The MCP server x`."""


class Streams:
    """A line of JSON on standard input, a line of JSON on standard output."""

    version = ""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._read = 0
        self.stop = running.stop

    async def ask(self, number: int, message: bytes) -> mcp.ServerMessage:
        """Send the request `number` and return its answer. Passes over lines that are no message:
        some servers greet there. Raises `TransportError`.
        """
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
        """Send a notification."""
        self._running.tell(message + b"\n")


class Http:
    """Streamable HTTP: a POST for each message, answered by JSON or by a stream that ends.
    `version` is the one that was agreed on; it says it again and again.
    """

    def __init__(self, instance: Instance, path: str) -> None:
        self._instance = instance
        self._path = path
        self._session = self.version = ""
        self.stop = instance.stop

    async def ask(self, number: int, message: bytes) -> mcp.ServerMessage:
        """Send the request `number` and return its answer. Raises `TransportError`."""
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
        """Send a notification. Raises `TransportError`."""
        await self._post(message)

    async def _post(self, message: bytes) -> tuple[str, bytes]:
        headers = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ]
        headers += [("Mcp-Session-Id", self._session)] if self._session else []
        headers += [("MCP-Protocol-Version", self.version)] if self.version else []
        request = LocalRequest("POST", self._path, tuple(headers), message)
        try:
            reply = await self._instance.ask(request, seconds=CALL_SECONDS, limit=MESSAGE_LIMIT)
        except NoPortLeft:
            raise
        except LocalHttpError as error:
            raise TransportError(error.message) from None
        if not 200 <= reply.status < 300:
            raise TransportError(f"answered POST {self._path} with status {reply.status}")
        self._session = reply.session or self._session
        return reply.content_type, reply.body


START_SECONDS = 30.0
"""How long a server may take until its tools are listed."""

TOOLS_LIMIT = 200
"""Tools of all servers of an agent."""


class ServerFault(Exception):
    """A server did not do its part: `silence` is why the trial has no answer."""

    def __init__(self, silence: NoAnswer) -> None:
        super().__init__(silence.reason)
        self.silence = silence


class McpServer:
    """One server that runs. Whoever has made the `transport` to it has to `stop` that."""

    def __init__(self, spec: ToolServerSpec, transport: Streams | Http) -> None:
        self._spec = spec
        self._transport = transport
        self._number = 0
        self.tools: tuple[ToolDefinition, ...] = ()

    async def meet(self) -> None:
        """Introduce ourselves and read the list of tools. Raises `ServerFault`."""
        try:
            async with asyncio.timeout(START_SECONDS):
                self._number += 1
                message = mcp.hello(self._number, "gateval", __version__)
                introduced = _given(await self._transport.ask(self._number, message))
                self._transport.version = mcp.spoken(introduced)
                await self._transport.tell(mcp.READY)
                self.tools = await self._listed()
        except TimeoutError:
            raise await self._fault(f"did not list its tools within {START_SECONDS:g} s") from None
        except (TransportError, WireError) as error:
            raise await self._fault(str(error)) from None

    async def call(self, tool: str, arguments: JsonObject) -> ToolAnswer:
        """Call a tool. What the server refuses is an error of the tool. Raises `ServerFault`."""
        params: JsonObject = {"name": tool, "arguments": arguments}
        try:
            heard = await self._ask("tools/call", params)
            if heard.error:
                return ToolAnswer(heard.error, is_error=True)
            return mcp.answer_in(_given(heard))
        except (TransportError, WireError) as error:
            raise await self._fault(str(error)) from None

    async def _listed(self) -> tuple[ToolDefinition, ...]:
        found: list[ToolDefinition] = []
        cursor = ""
        while True:
            page = {"cursor": cursor} if cursor else {}
            tools, cursor = mcp.tools_in(_given(await self._ask("tools/list", {**page})))
            found += tools
            if len(found) > TOOLS_LIMIT:
                raise WireError(f"lists more than {TOOLS_LIMIT} tools")
            if not cursor or not tools:
                return tuple(found)

    async def _ask(self, method: str, params: JsonObject) -> mcp.ServerMessage:
        self._number += 1
        message = mcp.request(self._number, method, params)
        return await self._transport.ask(self._number, message)

    async def _fault(self, clause: str) -> ServerFault:
        ran = await self._transport.stop()
        reason = f"The MCP server `{self._spec.name}` {clause}."
        return ServerFault(told(reason, ran, command_line(self._spec.command)))


class Servers:
    """All servers of one trial."""

    def __init__(self, servers: tuple[McpServer, ...] = ()) -> None:
        self._by_tool = {tool.name: one for one in servers for tool in one.tools}
        self.tools = tuple(tool for one in servers for tool in one.tools)

    async def call(self, tool: str, arguments: JsonObject) -> ToolAnswer:
        """Have the server of this tool answer. Raises `ServerFault`."""
        return await self._by_tool[tool].call(tool, arguments)


@contextlib.asynccontextmanager
async def running_servers(launch: Launch) -> AsyncIterator[Servers]:
    """Start the servers of an agent for one trial, and end them after it. Raises `ServerFault`."""
    async with contextlib.AsyncExitStack() as stack:
        servers: list[McpServer] = []
        owners: dict[str, str] = {}
        for spec in launch.agent.runtime.servers:
            transport: Streams | Http
            if spec.path is not None:
                transport = await _serving(spec, spec.path, launch)
            else:
                transport = await _spoken_to(spec, launch, stack)
            stack.push_async_callback(transport.stop)
            server = McpServer(spec, transport)
            await server.meet()
            for tool in server.tools:
                owner = owners.setdefault(tool.name, spec.name)
                if owner != spec.name:
                    reason = f"The MCP servers `{owner}` and `{spec.name}` both have a tool"
                    said = f"{reason} {tool.name!r}, and a model could not tell them apart."
                    raise ServerFault(NoAnswer(cause=Cause.CANDIDATE, reason=said))
            servers.append(server)
        yield Servers(tuple(servers))


async def _serving(spec: ToolServerSpec, path: str, launch: Launch) -> Http:
    """Start a server that listens. Raises `ServerFault`."""
    what, env = f"The MCP server `{spec.name}`", {**launch.env, **spec.env}
    own = replace(launch, command=spec.command, env=env, what=what, asks_models=False)
    started = await start_instance(own)
    if isinstance(started, NoAnswer):
        raise ServerFault(started)
    return Http(started, path or "/")


async def _spoken_to(
    spec: ToolServerSpec, launch: Launch, stack: contextlib.AsyncExitStack
) -> Streams:
    """Start a server that reads and prints. Raises `ServerFault`."""
    around, at = launch.context, launch.addresses
    private = await stack.enter_async_context(private_folders(around.scratch))
    literals = {"PYTHONUNBUFFERED": "1", **at.literals({**launch.env, **spec.env})}
    env = instance_environment(around.environ, launch.name, private, literals)
    words, folder, reads = at.words(spec.command), launch.place.folder, launch.place.reads
    program = Program(
        words, folder, env, writes=launch.writes, reads=reads, ports=at.ports, listens=True
    )
    limits = replace(launch.limits, stdout_kept=MESSAGE_LIMIT, stdout_bytes=PRINTED_LIMIT)
    try:
        return Streams(launch.programs.start(program, limits))
    except NotStarted as error:
        reason = f"The MCP server `{spec.name}` could not be started. {error.reason}"
        line = command_line(spec.command)
        raise ServerFault(no_start(reason, line, error.cause)) from None


def _given(heard: mcp.ServerMessage) -> JsonObject:
    if heard.error or heard.result is None:
        raise WireError(f"refused the gate: {heard.error or 'it gave nothing'}")
    return heard.result
