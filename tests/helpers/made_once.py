"""Repositories that many tests begin with: git makes them once, and each test gets a copy of the files."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.helpers.repo import Repo

Build = Callable[[Path], Repo]


class _Entry(NamedTuple):
    path: str
    mode: int
    content: bytes | None  # None of a folder


def made_once(build: Build) -> Build:
    """Return `build` that works once in a process; it makes a folder and names no path of it."""

    @functools.cache
    def made() -> tuple[tuple[_Entry, ...], str, int]:
        with tempfile.TemporaryDirectory(prefix="gateval-made-") as folder:
            place = Path(folder, "made")
            repo = build(place)
            entries = tuple(_entry(path, place) for path in sorted(place.rglob("*")))
            return entries, str(repo.path.relative_to(place)), repo._commits

    @functools.wraps(build)
    def make(path: Path) -> Repo:
        entries, where, commits = made()
        path.mkdir(parents=True, exist_ok=True)
        for entry in entries:
            target = path / entry.path
            if entry.content is None:
                target.mkdir(exist_ok=True)
            else:
                target.write_bytes(entry.content)
            target.chmod(entry.mode)
        repo = Repo.at(path / where)
        repo._commits = commits
        return repo

    return make


def _entry(path: Path, place: Path) -> _Entry:
    content = None if path.is_dir() else path.read_bytes()
    return _Entry(str(path.relative_to(place)), path.stat().st_mode & 0o7777, content)
