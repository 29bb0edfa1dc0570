"""The gateway as a local server, for candidates that call models with an SDK of their own.

Only POST on the endpoints of our formats is answered, the list of the manifest's models, and the
gate's own MCP server at the address of an instance; everything else is our own 404, because with a
real key behind it any other path could read or delete an account's data.

It is written by hand: of the protocol it needs four methods, and the official SDK's server would
bring a second HTTP server beside the one whose limits hold candidates (docs/adr/0029). What is
listed is the Agent's manifest, so that no fixture shows in it.

A provider's list would tell what the account behind the key may use, so it is not asked.

The library bounds headers (128 of 8 KB), pipelined requests and what it reads ahead of us. Here
are bodies, idle connections and the number of connections.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections.abc import Awaitable, Callable, Hashable
from contextlib import aclosing
from typing import Any, Protocol, Self

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler
from pydantic import JsonValue

from gateval import __version__
from gateval.domain.base import JsonObject
from gateval.domain.strict_json import is_strict
from gateval.domain.trials.model_call import ToolDefinition
from gateval.domain.trials.trial import Side
from gateval.gateway.door import Gateway
from gateval.gateway.local.calls import CandidateCall, InputCall, Reply, Stream, error_reply
from gateval.gateway.local.session import (
    MOST_KEYS,
    REDIRECT_PATH,
    TOOLS_PATH,
    Endpoint,
    Session,
    brought_keys,
    find,
    presented_key,
    redirected,
    shape,
)
from gateval.gateway.local.trial_calls import CallLimits
from gateval.gateway.upstream.pace import RateLimiter
from gateval.wire import mcp
from gateval.wire.base import Format, WireError, write_json
from gateval.wire.registry import FORMATS, INPUT_FORMATS


async def write_stream(request: web.BaseRequest, stream: Stream) -> web.StreamResponse:
    """Send a stream as it comes; a candidate that does not read it holds up only itself."""
    headers = {
        "Server": "gateval",
        "Content-Type": "text/event-stream; charset=utf-8",
        "Cache-Control": "no-cache",
    }
    response = web.StreamResponse(headers=headers)
    async with aclosing(stream) as pieces:
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
            told = (message, payload, protocol, writer, task, asyncio.get_running_loop())
            return web.BaseRequest(*told, client_max_size=body_limit)

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


TOOL_BODY_LIMIT = 1024 * 1024
"""Bytes read of a message, after decompression."""

NAME_LIMIT = 200
"""Characters kept of the name of a tool that there is not."""


async def answer_tools(request: web.BaseRequest, session: Session) -> Reply | None:
    """Answer one request at the address of `session`; None for what wants no answer. Never raises
    for what a candidate does. Of a body that is too long no more is kept than allowed.
    """
    if request.method != "POST":
        return _error(405, "Nothing is streamed here; send messages by POST.", mcp.INVALID)
    if session.turns.is_full:
        return _error(429, _FULL)
    body = bytearray()
    async with session.turns.turn(request.content_length):
        try:
            async with asyncio.timeout(session.limits.body_seconds):
                async for chunk in request.content.iter_chunked(64 * 1024):
                    body += chunk
                    if len(body) > TOOL_BODY_LIMIT:
                        return _error(413, f"A message may have {TOOL_BODY_LIMIT} bytes.")
        except TimeoutError:
            return _error(408, "The message was not here in time.")
    try:
        message = mcp.read(bytes(body))
    except WireError as error:
        return _error(400, f"The message is {error}.", mcp.UNREADABLE)
    session.tools_asked = True
    if message.id is None or not message.method:
        return None
    return await _answer(message, session)


def _error(status: int, told: str, code: int = mcp.REFUSED) -> Reply:
    return Reply(status, mcp.error(None, code, told))


async def _answer(message: mcp.McpMessage, session: Session) -> Reply:
    if message.method == "initialize":
        return _said(message, mcp.introduction(message.params, "gateval", __version__))
    if message.method == "ping":
        return _said(message, {})
    if message.method == "tools/list":
        return _said(message, mcp.listing(session.tools))
    if message.method == "tools/call":
        return await _call(message, session)
    told = f"There is no method {message.method[:NAME_LIMIT]} here."
    return Reply(200, mcp.error(message.id, mcp.NO_METHOD, told))


async def _call(message: mcp.McpMessage, session: Session) -> Reply:
    def refused(code: int, told: str, status: int = 200) -> Reply:
        return Reply(status, mcp.error(message.id, code, told))

    try:
        name, arguments = mcp.call(message.params)
    except WireError as error:
        return refused(mcp.BAD_PARAMS, f"{error}.")
    if not is_strict(arguments):
        return refused(mcp.BAD_PARAMS, "The arguments are nested too deeply.")
    trial = session.trial
    if trial is None:
        return refused(mcp.REFUSED, "No trial is under way, so no tool may be called.")
    if why := trial.tools.refusal():
        return refused(mcp.REFUSED, why, 429)
    names = [tool.name for tool in session.tools]
    answer = await trial.tools.answer(name[:NAME_LIMIT], arguments, names)
    if name not in names:
        return refused(mcp.BAD_PARAMS, answer.text)
    if answer.status is not None:
        return refused(mcp.REFUSED, answer.text, answer.status)
    return _said(message, mcp.answered(answer))


def _said(message: mcp.McpMessage, value: JsonObject) -> Reply:
    return Reply(200, mcp.result(message.id, value))


_LONG_AGO = "1970-01-01T00:00:00Z"
_METHODS = ("generateContent", "streamGenerateContent", "embedContent", "batchEmbedContents")


def list_models(names: tuple[str, ...], asked: str, wire: Format) -> Reply:
    """Return the models `names` (`provider/model-id`), or the one that is `asked` for by its name.
    They are called by their bare ids, as a program asks for them. `wire` says in which shape.
    """
    if asked and asked not in names:
        names = tuple(name for name in names if name.partition("/")[2] == asked)
        if not names:
            message = f"The Agent's manifest does not name {asked}; add it to `spec.uses`."
            return error_reply(wire, 404, message)
    elif asked:
        names = (asked,)
    owned = [name.partition("/")[::2] for name in names]
    key, frame = "data", JsonObject()
    listed: list[JsonValue] = []
    for owner, one in owned:
        if wire is FORMATS["gemini-content"]:
            key = "models"
            told: JsonObject = {"name": f"models/{one}", "displayName": one}
            told["supportedGenerationMethods"] = [*_METHODS]
        elif wire is FORMATS["anthropic-messages"]:
            told = {"type": "model", "id": one, "display_name": one, "created_at": _LONG_AGO}
        else:
            told = {"id": one, "object": "model", "created": 0, "owned_by": owner}
        listed.append(told)
    if wire is FORMATS["anthropic-messages"]:
        first, last = (owned[0][1], owned[-1][1]) if owned else (None, None)
        frame = {"has_more": False, "first_id": first, "last_id": last}
    elif wire is FORMATS["openai-chat"]:
        frame = {"object": "list"}
    return Reply(200, write_json(listed[0] if asked else {**frame, key: listed}))


HOST = "127.0.0.1"
BODY_LIMIT = 20 * 1024 * 1024
"""Bytes read of a request, after decompression."""

SHUTDOWN_SECONDS = 1
"""Time that connections get to end once the server closes."""

REFUSALS_PER_SECOND = 200
"""Requests refused at once, of all candidates together; the others wait for it."""

LONGEST_REFUSAL = 2.0
"""Seconds that a refusal takes at most."""

UNKNOWN_KEY = "This key is unknown here, or its candidate has ended."

_NO_HOST = "This gateway knows no such provider."
_TOO_MANY_KEYS = f"A program may bring {MOST_KEYS} keys of its own, and this one brought more."
_TOO_LARGE = f"A request may have {BODY_LIMIT} bytes."
_FULL = "Too many calls of this candidate wait for their turn."
_NO_EVENTS = "This gateway streams as server-sent events; ask for them with `?alt=sse`."


class GatewayServer:
    """Serves a `Gateway` on a free port of the loopback address. An async context manager.

    The `gateway` must be open for as long as the server is. `connections` are those open now, of
    which there may be as many as the argument says, or as suits the process. `refused` counts the
    requests refused because of their path, their key, or for want of a trial. `brought` are the
    keys of their own that programs of each side sent, which nobody has to see.
    """

    def __init__(
        self,
        gateway: Gateway,
        limits: CallLimits | None = None,
        *,
        connections: int | None = None,
    ) -> None:
        self.gateway = gateway
        self.connections = Connections(connections or connection_limit())
        self.refused = 0
        self.brought: dict[Side, set[str]] = {}
        self._limits = limits or CallLimits()
        self._sessions: dict[str, Session] = {}
        self._tool_keys: dict[str, Session] = {}
        self._redirects: dict[str, Session] = {}
        self._refusals = RateLimiter(per_second=REFUSALS_PER_SECOND, burst=REFUSALS_PER_SECOND)
        self._runner: web.ServerRunner | None = None
        self._address = ""

    async def __aenter__(self) -> Self:
        server = HttpServer(self._handle, self.connections, body_limit=BODY_LIMIT)
        self._runner = web.ServerRunner(server, shutdown_timeout=SHUTDOWN_SECONDS)
        await self._runner.setup()
        site = web.TCPSite(self._runner, HOST, 0, backlog=512)
        await site.start()
        self._address = f"http://{HOST}:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        for session in list(self._sessions.values()):
            session.close()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._address.rpartition(":")[2])

    def open(
        self,
        side: Side,
        models: tuple[str, ...],
        uses: tuple[str, ...] = (),
        tools: tuple[ToolDefinition, ...] = (),
    ) -> Session:
        """Return a new session; `models`, `uses` and `tools` are the Agent's lists."""
        session = Session(
            side,
            models,
            uses,
            tools,
            address=self._address,
            limits=self._limits,
            ledger=self.gateway.ledger,
            on_close=self._forget,
            brought=self.brought.setdefault(side, set()),
        )
        self._sessions[session.key] = session
        self._tool_keys[session.tool_key] = session
        self._redirects[session.redirect_key] = session
        return session

    def _forget(self, session: Session) -> None:
        self._sessions.pop(session.key, None)
        self._tool_keys.pop(session.tool_key, None)
        self._redirects.pop(session.redirect_key, None)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path.startswith(TOOLS_PATH):
            return await self._handle_tools(request)
        if request.path.startswith(REDIRECT_PATH):
            return await self._handle_redirected(request)
        session = self._sessions.get(presented_key(request))
        return await self._handle_call(request, request.path, session)

    async def _handle_redirected(self, request: web.BaseRequest) -> web.StreamResponse:
        """Take a call that was meant for a provider's own address. The key in the path says whose
        it is; what the program has for a key goes no further.
        """
        key, _, rest = request.path.removeprefix(REDIRECT_PATH).partition("/")
        host, _, path = rest.partition("/")
        session, meant = self._redirects.get(key), redirected(host, f"/{path}")
        wire = shape(meant.path if meant else "", request.headers)
        if session is None:
            return await self._refuse(error_reply(wire, 401, UNKNOWN_KEY))
        if meant is None:
            return await self._refuse(error_reply(wire, 404, _NO_HOST))
        if not session.brings(brought_keys(request)):
            return await self._refuse(error_reply(wire, 429, _TOO_MANY_KEYS))
        if session.trial is not None:
            session.trial.redirected[meant.host] = None
        return await self._handle_call(request, meant.path, session)

    async def _handle_call(
        self, request: web.BaseRequest, path: str, session: Session | None
    ) -> web.StreamResponse:
        """Answer a call for `path` of this gateway; `session` is whose key it has."""
        place = find(request.method, path)
        wire = FORMATS[place.wire] if place and place.wire else shape(path, request.headers)
        if place is None:
            message = f"This gateway has no {request.method} {path[:200]}."
            if session is not None and session.trial is not None:
                if request.method == "POST":
                    session.trial.made()
                session.trial.turned_away(message)
            return await self._refuse(error_reply(wire, 404, message))
        if session is None:
            return await self._refuse(error_reply(wire, 401, UNKNOWN_KEY))
        if not place.wire:
            return await self._list(session, place, wire)
        if session.trial is None:
            session.stray += 1
            message = "No trial is under way, so no model may be called."
            return await self._refuse(error_reply(wire, 403, message))
        session.trial.made(measures=place.wire in INPUT_FORMATS)
        if place.streams and request.query.get("alt") != "sse":
            session.trial.refused(_NO_EVENTS)
            return await self._refuse(error_reply(wire, 400, _NO_EVENTS))
        self.connections.claimed(request.protocol, session)
        try:
            return await self._admit(request, session, place)
        finally:
            self.connections.rests(request.protocol)

    async def _list(self, session: Session, place: Endpoint, wire: Format) -> web.StreamResponse:
        """List the models of the manifest, also between trials: that costs nobody anything."""
        if session.turns.is_full:
            return await self._refuse(error_reply(wire, 429, _FULL))
        async with session.turns.turn(0):
            named = (*session.models, *session.uses)
            return write_reply(list_models(named, place.model, wire))

    async def _handle_tools(self, request: web.BaseRequest) -> web.StreamResponse:
        session = self._tool_keys.get(request.path.removeprefix(TOOLS_PATH))
        if session is None:
            return await self._refuse(_error(401, UNKNOWN_KEY))
        self.connections.claimed(request.protocol, session)
        try:
            reply = await answer_tools(request, session)
            return web.Response(status=202) if reply is None else write_reply(reply)
        finally:
            self.connections.rests(request.protocol)

    async def _refuse(self, reply: Reply) -> web.Response:
        """Return a refusal, the later the more of them there are."""
        self.refused += 1
        wait = min(self._refusals.wait(), LONGEST_REFUSAL)
        if wait:
            await asyncio.sleep(wait)
        return write_reply(reply)

    async def _admit(
        self, request: web.BaseRequest, session: Session, place: Endpoint
    ) -> web.StreamResponse:
        wire, trial = FORMATS[place.wire], session.trial
        if trial is None:
            raise RuntimeError("a call is admitted within a trial")
        with trial.under_way() as timer:
            refusal = trial.refusal() or (_FULL if session.turns.is_full else "")
            if refusal:
                trial.refused(refusal)
                return await self._refuse(error_reply(wire, 429, refusal))
            async with session.turns.turn(request.content_length):
                try:
                    async with asyncio.timeout(self._limits.body_seconds):
                        body = await request.read()
                except web.HTTPRequestEntityTooLarge:
                    trial.turned_away(_TOO_LARGE)
                    return write_reply(error_reply(wire, 413, _TOO_LARGE))
                except TimeoutError:
                    message = f"The request was not here in {self._limits.body_seconds:g} s."
                    return write_reply(error_reply(wire, 408, message))
                made = InputCall if place.wire in INPUT_FORMATS else CandidateCall
                reply = await made(self.gateway, session, trial, place, timer).answer(body)
                if isinstance(reply, Reply):
                    return write_reply(reply)
                return await write_stream(request, reply)
