"""Whose the listening sockets of this machine are, as Linux tells in `/proc/net/tcp` (proc(5)).

A candidate that sees another's port in its command line may take it first and answer in its place:
head's could then speak for base's. Where each has a user of its own, the kernel knows better.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LISTENING = "0A"


def users_listening_on(port: int) -> frozenset[int]:
    """Return the user ids of all sockets that listen on a port, on any address."""
    return frozenset(user for table in _TABLES for user in _users(table, f"{port:04X}"))


def _users(table: Path, port: str) -> Iterator[int]:
    try:
        lines = table.read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return
    for line in lines:
        cells = line.split()
        if cells[3] == _LISTENING and cells[1].rpartition(":")[2] == port:
            yield int(cells[7])
