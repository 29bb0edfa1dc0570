"""Requests of candidates and replies to them, as the HTTP library has them."""

from __future__ import annotations

from contextlib import aclosing

from aiohttp import web

from gateval.domain.base import JsonObject
from gateval.gateway.local.candidate_call import Reply, Stream, error_reply
from gateval.gateway.local.session import GEMINI_PATH
from gateval.wire.base import WireFormat
from gateval.wire.json_text import write_json
from gateval.wire.registry import WIRE_FORMATS

_NO_GEMINI = (
    "This gateway does not speak Gemini's own format. Ask for gemini/MODEL with an OpenAI client, "
    "which finds the gateway by its environment variables."
)


async def write_stream(request: web.BaseRequest, stream: Stream) -> web.StreamResponse:
    """Send a stream as it comes; a candidate that does not read it holds up only itself."""
    headers = {
        "Server": "gateval",
        "Content-Type": "text/event-stream; charset=utf-8",
        "Cache-Control": "no-cache",
    }
    response = web.StreamResponse(headers=headers)
    async with aclosing(stream.pieces) as pieces:
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


def presented_key(request: web.BaseRequest) -> str:
    """Return the key by either SDK's header; the empty string for none."""
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
    return request.headers.get("x-api-key") or bearer


def not_found(request: web.BaseRequest) -> Reply:
    """Return the error for a path that is not served, in the shape that its asker expects."""
    if request.path.startswith(GEMINI_PATH):
        error: JsonObject = {"code": 404, "message": _NO_GEMINI, "status": "NOT_FOUND"}
        return Reply(404, write_json({"error": error}))
    message = f"This gateway has no {request.method} {request.path[:200]}."
    return error_reply(_shape(request), 404, message)


def _shape(request: web.BaseRequest) -> WireFormat:
    is_anthropic = "anthropic-version" in request.headers
    return WIRE_FORMATS["anthropic-messages" if is_anthropic else "openai-chat"]
