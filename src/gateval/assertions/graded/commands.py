"""Programs that another tool's file names: their command, and the folder in which it runs."""

from __future__ import annotations

import posixpath
import shlex
from abc import ABC

from pydantic import Field

from gateval.assertions.base import Assertion
from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import CheckFiles
from gateval.domain.repository.paths import path_of_text, resolve_path
from gateval.judging.neutral import shorten

_ENTER = 'cd -- "$1" && shift && exec "$@"'


class CommandInFolder(Assertion, ABC):
    """The program of an `OwnProgram`, as a command with a folder of its own."""

    command: tuple[str, ...] = Field(
        min_length=1, description="The program and its arguments; no shell reads them."
    )
    cwd: str = Field(
        default="",
        description="The folder in which it runs, relative to the manifest's folder; with a "
        "leading `/`, to the repository root.",
    )
    config: JsonObject = Field(default={}, description="What the program is told as `config`.")

    @property
    def named(self) -> str:
        """See `OwnProgram`."""
        return f"`{shorten(shlex.join(self.command), 120)}`"

    def argv(self, files: CheckFiles) -> tuple[str, ...]:
        """See `OwnProgram`."""
        return in_folder(self.command, self.cwd, path_of_text(files.rules.folder))


def in_folder(command: tuple[str, ...], cwd: str, folder: str) -> tuple[str, ...]:
    """Return the command so that it runs in `cwd` when it is started in the manifest's `folder`.

    A folder outside of the repository is the manifest's own.
    """
    there = resolve_path(folder, cwd) if cwd else folder
    if there is None or there == folder:
        return command
    return ("sh", "-c", _ENTER, "sh", posixpath.relpath(there or ".", folder or "."), *command)
