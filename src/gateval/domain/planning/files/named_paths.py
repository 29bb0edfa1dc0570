"""Paths that an Agent's command lines name: what a program runs belongs to its closure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gateval.domain.manifests.agent import RuntimeSpec
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.links import walk_links
from gateval.domain.repository.paths import resolve_path
from gateval.domain.repository.tree import under

_NO_FILE_FOLLOWS = frozenset({"-m", "-c", "-e", "--eval", "-p"})
_SCRIPT = re.compile(r"\.(?:py|js|mjs|cjs|ts|mts|tsx|sh|rb|pl|php|lua)$")


def process_roots(runtime: RuntimeSpec, cwd: str, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield the working directory and the paths named in command lines, each with why."""
    yield cwd, "cwd"
    for key, words in runtime.own_commands():
        for word in words:
            for path in named(cwd, word, snapshot):
                yield path, f"{key} {word}"


def program_index(words: Sequence[str]) -> int | None:
    """Return which word of a command line is a program that a repository holds, None if none is.

    It is the first with the ending of a script, unless it comes behind `-m` or `-c`; or the first
    word of all, if it is a path.
    """
    for index, word in enumerate(words):
        if word in _NO_FILE_FOLLOWS or "{" in word or word.startswith("/"):
            return None
        if index == 0 and "/" in word:
            return 0
        if _SCRIPT.search(word) and not word.startswith("-"):
            return index
    return None


def named(cwd: str, word: str, snapshot: Snapshot) -> Iterator[str]:
    """Yield the paths that a word of a command line may name, also behind `--option=`.

    No folder around the working directory: that is where a program runs, not what it runs.
    """
    for text in (word, word.partition("=")[2]):
        path = resolve_path(cwd, text) if text else None
        if not path or under(cwd, {path}):
            continue
        yield path
        _, end = walk_links(path, snapshot.links)
        passed, real = walk_links(f"{cwd}/{text}", snapshot.links)
        if real and real != end and real in snapshot.tree:  # `..` behind a link
            yield from passed
            yield real
