"""Finds the program that is the agent, in the repository's files as they lie there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from gateval.adapters.git import GitRepository
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.setup.programs.around import ENDINGS, tells_of_project, worth_reading
from gateval.domain.setup.programs.found import FoundProgram
from gateval.domain.setup.programs.search import find_programs
from gateval.errors import UsageError

Choose = Callable[[Sequence[str]], int]
"""Asks a person which of several lines is right and returns its index."""

MOST_FILES = 2_000
MOST_BYTES = 200_000
"""How many files are read in search of a program, and how large one may be."""


def programs_of(
    repository: GitRepository, snapshot: Snapshot, wanted: str | None
) -> tuple[FoundProgram, ...]:
    """Return the programs that look like agents, the likeliest first, or the one that is `wanted`.

    Raises `UsageError` when that is no file of the repository or none that can be read here.
    """
    named = _named(repository.root, snapshot, wanted) if wanted is not None else ""
    nearest = sorted(
        (path for path in snapshot.tree if worth_reading(path) or tells_of_project(path)),
        key=lambda path: (path.count("/"), path),
    )
    paths = dict.fromkeys([*([named] if named else []), *nearest[:MOST_FILES]])
    entries = {path: snapshot.tree[path] for path in paths}
    oids = {path: entry.oid for path, entry in entries.items() if entry.is_file}
    blobs = repository.blobs(oids.values(), limit=MOST_BYTES)
    texts = {path: (blobs.get(oid) or b"").decode("utf-8", "replace") for path, oid in oids.items()}
    return find_programs(texts, snapshot.tree, named)


def one_of(found: Sequence[FoundProgram], choose: Choose) -> FoundProgram:
    """Return the program to begin with; where several are as likely, a person says."""
    likeliest = [one for one in found if one.score == found[0].score]
    if len(likeliest) == 1:
        return found[0]
    return likeliest[choose([f"{one.path} ({one.framework})" for one in likeliest])]


def _named(root: Path, snapshot: Snapshot, wanted: str) -> str:
    """Return the path from the root of the file that a person named from where they are."""
    whole = (Path.cwd() / wanted).resolve()
    path = whole.relative_to(root).as_posix() if whole.is_relative_to(root) else ""
    if path not in snapshot.tree or not snapshot.tree[path].is_file:
        raise UsageError(
            f'"{wanted}" is no file of this repository.',
            hint="Name the file that starts the agent; what .gitignore leaves out does not count.",
        )
    if not path.endswith(ENDINGS) or not path.isprintable():
        raise UsageError(
            f'How "{wanted}" is started cannot be told: this reads {", ".join(ENDINGS)}.',
            hint="Write the Agent by hand: docs/getting-started.md shows one.",
        )
    return path
