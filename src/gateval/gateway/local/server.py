"""The gateway as a local server, for candidates that call models with an SDK of their own.

Only POST on the endpoints of our formats is answered, the list of the manifest's models, and the
gate's own MCP server at the address of an instance; everything else is our own 404, because with a
real key behind it any other path could read or delete an account's data.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from aiohttp import web

from gateval.domain.trials.model_call import ToolDefinition
from gateval.domain.trials.trial import Side
from gateval.gateway.door import Gateway
from gateval.gateway.local.call import Reply, error_reply
from gateval.gateway.local.candidate_call import CandidateCall
from gateval.gateway.local.connections import Connections, connection_limit
from gateval.gateway.local.http_replies import write_reply, write_stream
from gateval.gateway.local.http_server import HttpServer
from gateval.gateway.local.input_call import InputCall
from gateval.gateway.local.limits import CallLimits, RateLimiter
from gateval.gateway.local.model_list import list_models
from gateval.gateway.local.presented import presented_key, shape
from gateval.gateway.local.routing import Endpoint, find
from gateval.gateway.local.session import TOOLS_PATH, Session
from gateval.gateway.tools.answering import answer_tools
from gateval.wire import mcp
from gateval.wire.base import Format
from gateval.wire.registry import FORMATS, INPUT_FORMATS

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

_TOO_LARGE = f"A request may have {BODY_LIMIT} bytes."
_FULL = "Too many calls of this candidate wait for their turn."
_NO_EVENTS = "This gateway streams as server-sent events; ask for them with `?alt=sse`."


class GatewayServer:
    """Serves a `Gateway` on a free port of the loopback address. An async context manager.

    The `gateway` must be open for as long as the server is. `connections` are those open now, of
    which there may be as many as the argument says, or as suits the process. `refused` counts the
    requests refused because of their path, their key, or for want of a trial.
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
        self._limits = limits or CallLimits()
        self._sessions: dict[str, Session] = {}
        self._tool_keys: dict[str, Session] = {}
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

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
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
        )
        self._sessions[session.key] = session
        self._tool_keys[session.tool_key] = session
        return session

    def _forget(self, session: Session) -> None:
        self._sessions.pop(session.key, None)
        self._tool_keys.pop(session.tool_key, None)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path.startswith(TOOLS_PATH):
            return await self._handle_tools(request)
        place = find(request.method, request.path)
        wire = FORMATS[place.wire] if place and place.wire else shape(request)
        session = self._sessions.get(presented_key(request))
        if place is None:
            message = f"This gateway has no {request.method} {request.path[:200]}."
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
            session.went_astray()
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
            return await self._refuse(Reply(401, mcp.error(None, mcp.REFUSED, UNKNOWN_KEY)))
        self.connections.claimed(request.protocol, session)
        try:
            return await answer_tools(request, session)
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
