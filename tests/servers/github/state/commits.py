"""Commits, and what can be read off their graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class ChangedFile:
    """A file as a commit or a pull request changes it."""

    filename: str
    status: str = "modified"
    additions: int = 1
    deletions: int = 1
    previous_filename: str | None = None
    patch: str | None = "@@ -1 +1 @@\n-old\n+new"


@dataclass(frozen=True)
class Commit:
    """A commit. `date` is what its author claims, nothing more."""

    sha: str
    parents: tuple[str, ...] = ()
    message: str = "Change"
    author: str = "Ada"
    email: str = "ada@example.com"
    date: str = "2026-01-01T00:00:00Z"
    tree: str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    files: tuple[ChangedFile, ...] = ()


Look = Callable[[str], Commit | None]


def ancestors(look: Look, sha: str) -> dict[str, Commit]:
    """Return the commit and all that leads to it, nearest first."""
    found: dict[str, Commit] = {}
    todo: list[str] = [sha]
    while todo:
        name = todo.pop(0)
        commit = look(name)
        if commit is None or name in found:
            continue
        found[name] = commit
        todo.extend(commit.parents)
    return found


def merge_base(look: Look, one: str, other: str) -> Commit | None:
    """Return the nearest commit that both have, or None if their histories are unrelated."""
    known = ancestors(look, one)
    return next((commit for sha, commit in ancestors(look, other).items() if sha in known), None)


def merged_files(commits: Iterable[Commit]) -> list[ChangedFile]:
    """Return the files that these commits touch, each once, the last state winning."""
    return list({file.filename: file for commit in commits for file in commit.files}.values())
