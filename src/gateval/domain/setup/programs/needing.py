"""What a program needs beside its code: packages that its repository shares, files it reads."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from posixpath import basename, dirname

from gateval.domain.setup.programs.found import SetUp

_FILE_NAME = re.compile(r"[\w.-]+\.\w+")


def shared_packages(
    root: str, imported: Collection[str], files: Collection[str]
) -> tuple[str, ...]:
    """Return patterns of the repository's own packages outside `root` that are imported."""
    if not root:
        return ()
    folders = set()
    for path in files:
        folder = dirname(path)
        outside = not f"{folder}/".startswith(f"{root}/")
        if outside and basename(path) == "__init__.py" and basename(folder) in imported:
            folders.add(_project_folder(folder, files))
    return tuple(f"/{folder}/**" for folder in sorted(folders))


def with_shared(setup: SetUp | None, shared: tuple[str, ...]) -> SetUp | None:
    """Return the set-up so that it sees shared packages too: a lock file may name their folders."""
    return setup._replace(inputs=(*setup.inputs, *shared)) if setup else None


def file_names(text: str) -> Iterator[str]:
    """Give the words of a program that may be names of files."""
    yield from _FILE_NAME.findall(text)


def files_read(named: Collection[str], files: Iterable[str]) -> tuple[str, ...]:
    """Return the files whose name is among those `named` in the program's texts."""
    return tuple(sorted(path for path in files if basename(path) in named))


def _project_folder(folder: str, files: Collection[str]) -> str:
    """Return the project that a package belongs to: the folder with a project file, else itself."""
    above = folder
    while above:
        if f"{above}/pyproject.toml" in files or f"{above}/setup.py" in files:
            return above
        above = dirname(above)
    return folder
