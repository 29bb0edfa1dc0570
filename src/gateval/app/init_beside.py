"""What `init` writes of the servers beside an agent, as the compose file has and fills them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from gateval.adapters.git.repository import GitRepository
from gateval.domain.setup.beside import (
    COMPOSE_FILES,
    Beside,
    beside_of,
    fills_one_database,
    seeds_in,
)
from gateval.domain.setup.program import FoundProgram
from gateval.safe.sanitize import plain_line

MOST_BYTES = 200_000
"""Bytes of a file that are looked at."""


def with_servers(repository: GitRepository, program: FoundProgram) -> FoundProgram:
    """Return the program with the databases that its variables lead to, or its compose file."""
    folder = repository.root / program.root

    places = dict.fromkeys([repository.root, folder])
    composed = [text_here(place / name) for place in places for name in COMPOSE_FILES]
    named = ("package.json", "alembic.ini")
    files = {name: text for name in named if (text := text_here(folder / name))}
    seeds, left = _seeds(repository, places, composed)
    named_from = [os.path.relpath(one, folder) for one in seeds]
    beside = beside_of(composed, program.variables, files, named_from)
    here = all(map(shutil.which, beside.needs))
    beside = beside._replace(needed=beside.needed and here)
    if beside.servers:
        for one in left:
            shown = plain_line(os.path.relpath(one, repository.root), 200)
            print(f"The compose file fills the database by {shown} too: do so in runtime.before.")
    paths = tuple(os.path.relpath(one, repository.root) for one in seeds if beside.needed)
    outside = [one for one in paths if program.root and not one.startswith(f"{program.root}/")]
    return program._replace(
        beside=beside,
        variables=tuple(one for one in program.variables if one not in beside.set),
        reads=(*program.reads, *paths),
        include=tuple(dict.fromkeys((*program.include, *(f"/{one}" for one in outside)))),
    )


def _seeds(
    repository: GitRepository, places: Iterable[Path], composed: Sequence[str]
) -> tuple[list[Path], list[Path]]:
    """Return the SQL that compose files have a new database run, in the order in which it does, and
    what of it cannot be run before each trial.
    """
    found: dict[str, Path] = {}
    texts = zip([place for place in places for _ in COMPOSE_FILES], composed, strict=True)
    for place, text in texts:
        for path, name in seeds_in(text):
            source = Path(os.path.normpath(place / path))
            if not source.is_relative_to(repository.root):
                continue
            inner = sorted(source.iterdir()) if source.is_dir() and not source.is_symlink() else []
            files = [(one.name, one) for one in inner[:MOST_SEEDS]]
            found |= files or [(name or source.name, source)] * source.is_file()
    every = [found[name] for name in sorted(found)]
    good = [one for one in every if one.suffix == ".sql" and fills_one_database(text_here(one))]
    return good, [one for one in every if one not in good]


MOST_SEEDS = 50
"""Files of a folder that fills a database."""


def text_here(path: Path) -> str:
    """Return the beginning of a file here; nothing of a link, which may lead elsewhere."""
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(MOST_BYTES).decode("utf-8", "replace")


def say_what_is_beside(beside: Beside) -> None:
    """Print what the manifest has of them, and what is left to a person."""
    if beside.servers:
        names = ", ".join(name for name, _ in beside.env)
        how = "" if beside.needed else ", if it needs one"
        said = f"Its manifest has lines for a server of each run's own for {names}{how}."
        missing = [one for one in beside.needs if shutil.which(one) is None]
        lacks = (
            f" Not on PATH here: {', '.join(missing)}; install what has them." if missing else ""
        )
        print(said + lacks)
    if beside.images:
        images = ", ".join(plain_line(one, 80) for one in beside.images)
        told = "write what the agent needs under runtime.services."
        print(f"The compose file has {images} too: {told}")
