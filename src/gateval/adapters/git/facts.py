"""What commands ask of a clone: git's version, how deep it is, where it came from, whose it is."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from gateval.adapters.git.run import Git

_ADDRESS = re.compile(
    r"(?:(?:https?|ssh|git)://)?(?:[^@/]*@)?(?P<host>[^/:@]+)(?::\d+)?[:/](?P<name>[^/]+/[^/]+?)"
    r"(?:\.git)?/?"
)


class CloneFacts(NamedTuple):
    """`origin` is host and `owner/name` of the remote `origin`, None if it is no such address."""

    version: str
    shallow: bool
    origin: tuple[str, str] | None


def clone_facts(git: Git) -> CloneFacts:
    """Ask git for all of it. Raises `RepositoryError`."""
    version = os.fsdecode(git.run("version").out).removeprefix("git version ").strip()
    shallow = git.run("rev-parse", "--is-shallow-repository").out.strip() == b"true"
    url = git.run("config", "--get", "remote.origin.url", accept=(0, 1)).out
    return CloneFacts(version, shallow, read_address(os.fsdecode(url).strip()))


def author(git: Git) -> str:
    """Return the address or name that commits carry; empty if there is none."""
    for key in ("user.email", "user.name"):
        found = git.run("config", "--get", key, accept=(0, 1)).out
        if found.strip():
            return os.fsdecode(found).strip()
    return ""


def read_address(url: str) -> tuple[str, str] | None:
    """Return host and `owner/name` of a remote's address; a user or password in it is left out."""
    found = _ADDRESS.fullmatch(url)
    return (found["host"], found["name"]) if found else None
