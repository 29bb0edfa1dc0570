"""The command of a program that another tool's file names, and the folder in which it runs."""

from __future__ import annotations

import posixpath
from typing import Annotated

from pydantic import Field

from gateval.domain.repository.paths import resolve_path

Command = Annotated[
    tuple[str, ...],
    Field(min_length=1, description="The program and its arguments; no shell reads them."),
]

Folder = Annotated[
    str,
    Field(
        description="The folder in which it runs, relative to the manifest's folder; with a "
        "leading `/`, to the repository root."
    ),
]

_ENTER = 'cd -- "$1" && shift && exec "$@"'


def in_folder(command: tuple[str, ...], cwd: str, folder: str) -> tuple[str, ...]:
    """Return the command so that it runs in `cwd` when it is started in the manifest's `folder`.

    A folder outside of the repository is the manifest's own.
    """
    there = resolve_path(folder, cwd) if cwd else folder
    if there is None or there == folder:
        return command
    return ("sh", "-c", _ENTER, "sh", posixpath.relpath(there or ".", folder or "."), *command)
