"""Replies and streams on their way to a candidate, as the HTTP library sends them."""

from __future__ import annotations

from contextlib import aclosing

from aiohttp import web

from gateval.gateway.local.call import Reply, Stream


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
