"""What was asked of the server, in order: a test counts requests and looks at bodies."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from tests.servers.github.http import Request


@dataclass(frozen=True)
class Entry:
    """A request and the status it got; 0 if the connection was dropped."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    status: int
    token: str | None


class Log:
    """All API requests, git's apart."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(self, request: Request, status: int, token: str | None) -> None:
        """Write down a request."""
        try:
            body = request.json()
        except ValueError:
            body = request.raw
        entry = Entry(request.method, request.path, dict(request.query), body, status, token)
        self.entries.append(entry)

    def of(self, method: str = "*", path: str = "*") -> list[Entry]:
        """Return the requests that fit; `path` may hold `*`."""
        return [
            entry
            for entry in self.entries
            if fnmatchcase(entry.method, method) and fnmatchcase(entry.path, path)
        ]

    def count(self, method: str = "*", path: str = "*") -> int:
        """Return how many requests fit."""
        return len(self.of(method, path))

    def __str__(self) -> str:
        return "\n".join(f"{each.method} {each.path} {each.status}" for each in self.entries)
