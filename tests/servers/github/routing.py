"""Finds the route of a request. Paths are written as GitHub's OpenAPI description writes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

from tests.servers.github.access import Needs
from tests.servers.github.http import Call, Reply

Handler = Callable[[Call], Reply]
_WITH_SLASHES = {"ref", "branch", "basehead", "path"}


@dataclass(frozen=True)
class Route:
    """One operation: how it is asked for, what it needs, what it does."""

    method: str
    template: str
    needs: Needs
    handler: Handler
    pattern: re.Pattern[str]


ROUTES: list[Route] = []


def route(method: str, template: str, needs: Needs | None = None) -> Callable[[Handler], Handler]:
    """Register a handler; `R` at the start stands for a repository's path."""
    full = re.sub(r"^R(?=/|$)", "/repos/{owner}/{repo}", template)

    def register(handler: Handler) -> Handler:
        ROUTES.append(Route(method, full, needs or Needs(), handler, _pattern(full)))
        return handler

    return register


def find(method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """Return the route for a path as it came (still percent-encoded) and its parameters."""
    for each in ROUTES:
        match = each.pattern.fullmatch(path) if each.method == method else None
        if match:
            return each, {name: unquote(value) for name, value in match.groupdict().items()}
    return None


def _pattern(template: str) -> re.Pattern[str]:
    def group(match: re.Match[str]) -> str:
        name = match[1]
        return f"(?P<{name}>{'.+' if name in _WITH_SLASHES else '[^/]+'})"

    return re.compile(re.sub(r"\{(\w+)\}", group, template.replace(".", r"\.")))
