"""The open connections of the local server: how many there may be, and who has to give way."""

from __future__ import annotations

import resource
from collections.abc import Hashable
from typing import Protocol

MOST = 512
"""Connections open at once, if the process may have twice as many files open."""


class Connection(Hashable, Protocol):
    """A connection as the HTTP library has it."""

    def force_close(self) -> None:
        """Close it at once."""


def connection_limit() -> int:
    """Return how many connections we take: half of the files we may open, and `MOST` at most."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(min(MOST, soft // 2), 8)


class Connections:
    """Knows every connection and the candidate that it belongs to, once its key has told.

    When there are too many, the peer with most of them loses one: the oldest that is not in use, so
    that a flood of connections costs its maker, and nobody else.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._owners: dict[Connection, object] = {}
        self._groups: dict[object, dict[Connection, bool]] = {}

    def __len__(self) -> int:
        return len(self._owners)

    def opened(self, connection: Connection) -> None:
        """Take note of a new connection, whose owner nobody knows yet."""
        self._put(connection, None)
        if len(self._owners) > self._limit:
            most = max(self._groups.values(), key=len)
            idle = (other for other, in_use in most.items() if not in_use)
            victim = next(idle, None) or next(reversed(most))
            self.closed(victim)
            victim.force_close()

    def claimed(self, connection: Connection, owner: object) -> None:
        """Take note of whose it is, and that it is in use."""
        if connection in self._owners:
            self._drop(connection)
            self._put(connection, owner)
            self._groups[owner][connection] = True

    def rests(self, connection: Connection) -> None:
        """Take note that it is not in use for now."""
        if connection in self._owners:
            self._groups[self._owners[connection]][connection] = False

    def closed(self, connection: Connection) -> None:
        """Forget it."""
        if connection in self._owners:
            self._drop(connection)

    def _put(self, connection: Connection, owner: object) -> None:
        self._owners[connection] = owner
        self._groups.setdefault(owner, {})[connection] = False

    def _drop(self, connection: Connection) -> None:
        owner = self._owners.pop(connection)
        group = self._groups[owner]
        del group[connection]
        if not group:
            del self._groups[owner]
