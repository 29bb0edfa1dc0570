"""Settings of isolation, from the gate's environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gateval.errors import UsageError

USERS = "GATEVAL_CANDIDATE_USERS"
MEMORY = "GATEVAL_CANDIDATE_MEMORY_MIB"
DISK = "GATEVAL_CANDIDATE_DISK_MIB"
FILES = "GATEVAL_CANDIDATE_FILES"
PROCESSES = "GATEVAL_CANDIDATE_PROCESSES"

NOBODY_ELSES = (1_900_000_000, 1_916_777_215)
"""Ids that systemd's table of users calls unused (systemd.io/UIDS-GIDS)."""

IN_SMALL_NAMESPACES = (50_000, 59_999)
"""For containers whose user namespace maps no more than 65,536 ids."""

_LARGEST_USER = 2**31 - 2
_SMALLEST_RANGE = 100


@dataclass(frozen=True)
class Wishes:
    """Memory and disk in MiB, open files and processes (threads count) of one candidate.

    `users` is the range of ids to choose from, None for one that fits this system;
    `own_users` False says that candidates have none, which root may not wish.
    """

    users: tuple[int, int] | None = None
    own_users: bool = True
    memory_mib: int = 4096
    disk_mib: int = 4096
    files: int = 4096
    processes: int = 1024


def read_wishes(environ: Mapping[str, str]) -> Wishes:
    """Read them. Raises `UsageError` that names the variable at fault."""
    plain = Wishes()
    users = environ.get(USERS, "").strip()
    return Wishes(
        users=None if users in ("", "none") else _range(users),
        own_users=users != "none",
        memory_mib=_number(environ, MEMORY, plain.memory_mib, least=64),
        disk_mib=_number(environ, DISK, plain.disk_mib, least=1),
        files=_number(environ, FILES, plain.files, least=32),
        processes=_number(environ, PROCESSES, plain.processes, least=8),
    )


def _number(environ: Mapping[str, str], name: str, plain: int, *, least: int) -> int:
    text = environ.get(name, "").strip()
    if not text:
        return plain
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < least:
        raise UsageError(
            f"{name} is {text!r}, which is no whole number of at least {least}.",
            hint=f"Unset it for the default of {plain}.",
        )
    return int(text)


def _range(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]{1,10})-([0-9]{1,10})", text)
    first, last = (int(found[1]), int(found[2])) if found else (0, 0)
    if not (first > 0 and last <= _LARGEST_USER and last - first >= _SMALLEST_RANGE):
        raise UsageError(
            f"{USERS} is {text!r}, which is no range of user ids for agents.",
            hint=f"Write FIRST-LAST, at least {_SMALLEST_RANGE} ids that nobody has and never 0, "
            "or leave it out.",
        )
    return first, last
