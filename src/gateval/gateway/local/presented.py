"""What a request shows of its sender before it is read: the key, and the family of its client."""

from __future__ import annotations

from aiohttp import web

from gateval.gateway.local.routing import GEMINI
from gateval.wire.base import Format
from gateval.wire.registry import FORMATS

_KEY_HEADERS = ("x-api-key", "api-key", "x-goog-api-key")
"""Where Anthropic, Azure and Google have the key; the others have a bearer token."""


def presented_key(request: web.BaseRequest) -> str:
    """Return the key by any SDK's header, or as Google's examples have it in the address; the
    empty string for none.
    """
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
    given = next((key for name in _KEY_HEADERS if (key := request.headers.get(name))), bearer)
    return given or (request.query.get("key", "") if request.path.startswith(GEMINI) else "")


def shape(request: web.BaseRequest) -> Format:
    """Return the format in which its asker expects an answer that belongs to no format."""
    if request.path.startswith(GEMINI):
        return FORMATS["gemini-content"]
    is_anthropic = "anthropic-version" in request.headers
    return FORMATS["anthropic-messages" if is_anthropic else "openai-chat"]
