"""The gate's own MCP server: the tools of a program, answered from the fixture.

It is written by hand: of the protocol it needs four methods, and the official SDK's server would
bring a second HTTP server beside the one whose limits hold candidates (docs/adr/0029). What is
listed is the Agent's manifest, so that no fixture shows in it.
"""

from __future__ import annotations

import asyncio

from aiohttp import web

from gateval import __version__
from gateval.domain.base import JsonObject
from gateval.domain.text.strict_json import is_strict
from gateval.gateway.local.call import Reply
from gateval.gateway.local.http_replies import write_reply
from gateval.gateway.local.session import Session
from gateval.wire import mcp
from gateval.wire.base import WireError

BODY_LIMIT = 1024 * 1024
"""Bytes read of a message, after decompression."""

NAME_LIMIT = 200
"""Characters kept of the name of a tool that there is not."""


async def answer_tools(request: web.BaseRequest, session: Session) -> web.StreamResponse:
    """Answer one request at the address of `session`. Never raises for what a candidate does."""
    if request.method != "POST":
        said = mcp.error(None, mcp.INVALID, "Nothing is streamed here; send messages by POST.")
        return write_reply(Reply(405, said))
    if session.turns.is_full:
        said = mcp.error(None, mcp.REFUSED, "Too many calls of this candidate wait for their turn.")
        return write_reply(Reply(429, said))
    async with session.turns.turn(request.content_length):
        try:
            async with asyncio.timeout(session.limits.body_seconds):
                body = await _read(request)
        except TimeoutError:
            said = mcp.error(None, mcp.REFUSED, "The message was not here in time.")
            return write_reply(Reply(408, said))
    if body is None:
        said = mcp.error(None, mcp.REFUSED, f"A message may have {BODY_LIMIT} bytes.")
        return write_reply(Reply(413, said))
    try:
        message = mcp.read(body)
    except WireError as error:
        return write_reply(Reply(400, mcp.error(None, mcp.UNREADABLE, f"The message is {error}.")))
    session.tools_asked = True
    if message.id is None or not message.method:
        return web.Response(status=202)
    return write_reply(await _answer(message, session))


async def _read(request: web.BaseRequest) -> bytes | None:
    """Return the body, or None for one that is too long; of that no more is kept than allowed."""
    kept = bytearray()
    async for chunk in request.content.iter_chunked(64 * 1024):
        kept += chunk
        if len(kept) > BODY_LIMIT:
            return None
    return bytes(kept)


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
    try:
        name, arguments = mcp.call(message.params)
    except WireError as error:
        return Reply(200, mcp.error(message.id, mcp.BAD_PARAMS, f"{error}."))
    if not is_strict(arguments):
        told = "The arguments are nested too deeply."
        return Reply(200, mcp.error(message.id, mcp.BAD_PARAMS, told))
    trial = session.trial
    if trial is None:
        told = "No trial is under way, so no tool may be called."
        return Reply(200, mcp.error(message.id, mcp.REFUSED, told))
    if refused := trial.tools.refusal():
        return Reply(429, mcp.error(message.id, mcp.REFUSED, refused))
    names = [tool.name for tool in session.tools]
    answer = await trial.tools.answer(name[:NAME_LIMIT], arguments, names)
    if name not in names:
        return Reply(200, mcp.error(message.id, mcp.BAD_PARAMS, answer.text))
    if answer.status is not None:
        return Reply(answer.status, mcp.error(message.id, mcp.REFUSED, answer.text))
    return _said(message, mcp.answered(answer))


def _said(message: mcp.McpMessage, value: JsonObject) -> Reply:
    return Reply(200, mcp.result(message.id, value))
