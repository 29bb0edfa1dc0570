"""The gateway as a local server, for candidates that call models with an SDK of their own.

Only POST on the generation endpoints of our wire formats is answered; everything else is our own
404, because with a real key behind it any other path could read or delete an account's data.
"""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Self

from aiohttp import web

from gateval.domain.trial import Side
from gateval.gateway.candidate_call import Reply, answer_call, error_reply
from gateval.gateway.door import Gateway
from gateval.gateway.session import Session
from gateval.wire.base import WireFormat
from gateval.wire.registry import WIRE_FORMATS

HOST = "127.0.0.1"
BODY_LIMIT = 20 * 1024 * 1024
"""Bytes read of a request, after decompression."""

SHUTDOWN_SECONDS = 1
"""Time that connections get to end once the server closes."""

# What a candidate sends must not reach the log of the job, where it could be a command to the
# runner; aiohttp would log the bytes of a malformed request.
_LOGGER = logging.getLogger(__name__)
_LOGGER.setLevel(logging.CRITICAL + 1)

_ENDPOINTS = {wire.base_path + wire.path: name for name, wire in WIRE_FORMATS.items()}


class GatewayServer:
    """Serves a `Gateway` on a free port of the loopback address. An async context manager.

    The gateway must be open for as long as the server is.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._sessions: dict[str, Session] = {}
        self._runner: web.AppRunner | None = None
        self._address = ""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=BODY_LIMIT)
        app.router.add_route("*", "/{path:.*}", self._handle)
        # A candidate that is gone must not go on costing tokens: its calls end with it.
        self._runner = web.AppRunner(
            app,
            access_log=None,
            logger=_LOGGER,
            handler_cancellation=True,
            shutdown_timeout=SHUTDOWN_SECONDS,
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, HOST, 0)
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

    def open(self, side: Side, models: tuple[str, ...]) -> Session:
        """Return a new session; `models` is the Agent's list as `provider/model-id`."""
        session = Session(side, models, address=self._address, on_close=self._forget)
        self._sessions[session.key] = session
        return session

    def _forget(self, session: Session) -> None:
        self._sessions.pop(session.key, None)

    async def _handle(self, request: web.Request) -> web.Response:
        return _response(await self._reply(request))

    async def _reply(self, request: web.Request) -> Reply:
        name = _ENDPOINTS.get(request.path) if request.method == "POST" else None
        if name is None:
            message = f"This gateway has no {request.method} {request.path[:200]}."
            return error_reply(_shape(request), 404, message)
        wire = WIRE_FORMATS[name]
        session = self._sessions.get(_presented_key(request))
        if session is None:
            return error_reply(wire, 401, "This key is unknown here, or its candidate has ended.")
        trial = session.trial
        if trial is None:
            session.went_astray()
            return error_reply(wire, 403, "No trial is under way, so no model may be called.")
        with trial.under_way():
            try:
                body = await request.read()
            except web.HTTPRequestEntityTooLarge:
                return error_reply(wire, 413, f"A request may have {BODY_LIMIT} bytes.")
            return await answer_call(self._gateway, session, trial, name, body)


def _presented_key(request: web.Request) -> str:
    """Return the key by either SDK's header; the empty string for none."""
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
    return request.headers.get("x-api-key") or bearer


def _shape(request: web.Request) -> WireFormat:
    """Return the format in which whoever asks for an unknown path expects its error."""
    is_anthropic = "anthropic-version" in request.headers
    return WIRE_FORMATS["anthropic-messages" if is_anthropic else "openai-chat"]


def _response(reply: Reply) -> web.Response:
    headers = {"Server": "gateval"}
    if reply.status >= 400:
        # The gate has made its retries; an SDK that adds its own multiplies them.
        headers["x-should-retry"] = "false"
    return web.Response(
        status=reply.status, body=reply.body, content_type="application/json", headers=headers
    )
