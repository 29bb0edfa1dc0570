"""The playground of a fixture: what each trial of it starts with, and may change.

Its files are the repository's, at the revision of the fixture. What is expected of it in the end
stands in assertions, never here: all of this is the candidate's to see.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from gateval.domain.base import Spec
from gateval.domain.manifests.services import ServiceSpec
from gateval.domain.repository.paths import resolve_path
from gateval.domain.repository.tree import under

VARIABLE = "GATEVAL_PLAYGROUND"
"""The variable that holds the path of a trial's playground, in all that runs in the trial."""

PLAYGROUND = "{playground}"
"""Stands for that path in commands and literals of an Agent, and of services."""

PATH_LIMIT = 500


def inner_path(path: str) -> str:
    """Return a path inside a playground as it is. Raises `ValueError` if it may lead elsewhere."""
    steps = path.split("/")
    if not path or "\0" in path or path.startswith("/") or not all(steps) or {".", ".."} & {*steps}:
        raise ValueError("A path inside a playground is relative, without `.`, `..` or `//`")
    return path


InnerPath = Annotated[str, Field(max_length=PATH_LIMIT), AfterValidator(inner_path)]
"""Names a file or folder in a playground."""


class SqliteSpec(Spec):
    """An SQLite database in a playground."""

    name: InnerPath = Field(
        default="playground.db", description="The database's path in the playground."
    )
    source: str = Field(
        min_length=1,
        description="What it is made of, relative to the manifest's folder: a script that ends in "
        "`.sql`, or else a database as it is.",
    )

    @property
    def is_script(self) -> bool:
        """Whether statements make it."""
        return self.source.endswith(".sql")


class PlaygroundService(ServiceSpec):
    """A server that one trial has for itself, ended when its assertions are done."""

    folder: str | None = Field(
        default=None,
        description="A folder of the repository, of which the service gets a copy to work in, and "
        "the candidate none; relative to the manifest's folder. Default: it works in a copy of its "
        "own of what the playground starts with.",
    )


class PlaygroundSpec(Spec):
    """A folder that is made anew for each trial: the candidate works in it, assertions look at it.

    The candidate finds it at GATEVAL_PLAYGROUND, or at `{playground}` in `command` and `env`.
    """

    folder: str | None = Field(
        default=None,
        description="A folder of the repository with what the playground starts with, relative to "
        "the manifest's folder. No Agent gets it otherwise.",
    )
    files: tuple[str, ...] = Field(
        default=(),
        description="Further files, folders or patterns, relative to the manifest's folder, or to "
        "the root with a leading `/`. They stand at the same path in the playground, "
        "seen from where they are relative to.",
    )
    sqlite: SqliteSpec | None = None
    env: dict[str, str] = Field(
        default={},
        description="Environment variables of the candidate and the services; no secrets.",
    )
    services: tuple[PlaygroundService, ...] = Field(
        default=(), max_length=16, description="Servers beside it, started in this order."
    )

    def own_sources(self, folder: str) -> Iterator[tuple[str, str, str | None]]:
        """Yield what of the repository is the playground's alone: the key that says so, what it
        says, and the path from the root, None where it leads out. `folder` is the manifest's.
        """
        if self.folder is not None:
            yield "folder", self.folder, resolve_path(folder, self.folder)
        if self.sqlite is not None:
            yield "sqlite.source", self.sqlite.source, resolve_path(folder, self.sqlite.source)
        for index, service in enumerate(self.services):
            if service.folder is not None:
                path = resolve_path(folder, service.folder)
                yield f"services[{index}].folder", service.folder, path

    def own_roots(self, folder: str) -> Iterator[str]:
        """Yield these paths, without those around the manifest: a manifest is no one's to play."""
        for _, _, path in self.own_sources(folder):
            if path is not None and not under(folder, {path}):
                yield path
