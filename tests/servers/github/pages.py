"""Pagination as GitHub does it: per_page up to 100, neighbours in the Link header."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

from tests.servers.github.http import Call, Reply

Item = TypeVar("Item")


def page(
    call: Call, items: Sequence[Item], view: Callable[[Item], Any], *, within: str | None = None
) -> Reply:
    """Return one page of items; `within` names the key of a list that comes with its total."""
    size = min(max(_number(call, "per_page", 30), 1), 100)
    number = max(_number(call, "page", 1), 1)
    shown = [view(item) for item in items[(number - 1) * size : number * size]]
    last = max(-(-len(items) // size), 1)
    wanted: dict[str, int] = {}
    if number > 1:
        wanted |= {"prev": number - 1, "first": 1}
    if number < last:
        wanted |= {"next": number + 1, "last": last}
    links = [f'<{_url(call, target)}>; rel="{name}"' for name, target in wanted.items()]
    headers = {"Link": ", ".join(links)} if links else {}
    body = {"total_count": len(items), within: shown} if within else shown
    return Reply(200, body, headers)


def _number(call: Call, name: str, default: int) -> int:
    given = call.query.get(name, "")
    return int(given) if given.isdigit() else default


def _url(call: Call, number: int) -> str:
    query = urlencode({**call.query, "page": str(number)})
    return f"{call.links.api}{call.request.path}?{query}"
