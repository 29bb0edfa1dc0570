"""Routes of aiohttp servers: at which path one answers, and what it reads of its body. Pure."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

SENT = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": "1",
        "method": "message/send",
        "params": {
            "message": {
                "kind": "message",
                "messageId": "1",
                "role": "user",
                "parts": [{"kind": "text", "text": "{{ prompt }}"}],
            }
        },
    }
)
"""The request of A2A to a handler that reads it by hand, without a card."""


class AiohttpRoute(NamedTuple):
    """A path that takes a POST, the keys that its handler reads of the JSON of a request, and those
    of its answer; `a2a` says that it takes the requests of A2A.
    """

    path: str
    keys: tuple[str, ...]
    answers: tuple[str, ...]
    a2a: bool


_ADDED = re.compile(
    r"\badd_post\(\s*[\"'](/[^\"'{]*)[\"']\s*,\s*(?:\w+\.)*(\w+)"
    r"|\bweb\.post\(\s*[\"'](/[^\"'{]*)[\"']\s*,\s*(?:\w+\.)*(\w+)"
    r"|\badd_route\(\s*[\"']POST[\"']\s*,\s*[\"'](/[^\"'{]*)[\"']\s*,\s*(?:\w+\.)*(\w+)"
)
_READS = re.compile(r"\b(\w+)(?:\s*:[^=\n]{1,300})?\s*=\s*await \w+\.json\(\)")
_ANSWERS = re.compile(r"json_response\(\s*\{\s*[\"'](\w+)[\"']")
_A2A = re.compile(r"[\"']message/send[\"']")
_ASKS = re.compile(r"chat|ask|agent|message|quer|complet|invoke|prompt|answer")


def aiohttp_route(text: str) -> AiohttpRoute | None:
    """Return the route of a server of aiohttp that takes questions, if one is added to it."""
    if "aiohttp" not in text:
        return None
    found = []
    for one in _ADDED.finditer(text):
        path, name = (part for part in one.groups() if part)
        body = _body(text, name)
        names = "|".join(_READS.findall(body))
        read = rf"\b(?:{names})(?:\.get\(\s*|\[)[\"'](\w+)[\"']"
        keys = re.findall(read, body) if names else []
        route = AiohttpRoute(
            path, tuple(keys), tuple(_ANSWERS.findall(body)), bool(_A2A.search(body))
        )
        found.append(route)
    return max(
        found, key=lambda one: (one.a2a, bool(one.keys), bool(_ASKS.search(one.path))), default=None
    )


def _body(text: str, name: str) -> str:
    """Return a function or method, which may stand inside another one, by its indentation."""
    start = re.search(rf"^([ \t]*)(?:async )?def {name}\([^\n]*\n", text, re.M)
    if start is None:
        return ""
    end = re.search(rf"^(?!{start[1]}[ \t])[ \t]*[^\s)]", text[start.end() :], re.M)
    return text[start.start() : start.end() + end.start() if end else len(text)]
