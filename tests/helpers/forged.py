"""Objects that git itself would never make: trees with any names and modes, forged byte by byte."""

from __future__ import annotations

import os
from collections.abc import Iterable

from tests.helpers.repo import Repo

FILE = "100644"
LINK = "120000"
FOLDER = "40000"


def blob(repo: Repo, content: bytes) -> str:
    """Store a blob and return its id."""
    return repo.git("hash-object", "-w", "--stdin", stdin=content).decode().strip()


def tree(repo: Repo, entries: Iterable[tuple[str, str, str]]) -> str:
    """Store a tree of (mode, name, object id) in exactly this order; return its id."""
    raw = b"".join(
        f"{mode} ".encode() + os.fsencode(name) + b"\0" + bytes.fromhex(oid)
        for mode, name, oid in entries
    )
    command = ("hash-object", "-t", "tree", "--literally", "-w", "--stdin")
    return repo.git(*command, stdin=raw).decode().strip()


def commit(repo: Repo, entries: Iterable[tuple[str, str, str]]) -> str:
    """Store a commit of such a tree and return its id."""
    return repo.git("commit-tree", "-m", "Forged", tree(repo, entries)).decode().strip()


def path_entry(repo: Repo, path: str, mode: str, oid: str) -> tuple[str, str, str]:
    """Return the root entry that leads to `path` over one forged tree per folder."""
    *folders, name = path.split("/")
    entry = (mode, name, oid)
    for folder in reversed(folders):
        entry = (FOLDER, folder, tree(repo, [entry]))
    return entry
