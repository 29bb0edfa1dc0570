"""The playground of a fixture, and the services beside an Agent.

Its files are the repository's, at the revision of the fixture. What is expected of it in the end
stands in assertions, never here: all of this is the candidate's to see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from gateval.domain.base import Spec
from gateval.domain.paths import resolve_path
from gateval.domain.tree import under

_PATH = re.compile(r"/(?![/\\])[^\s\\#\x00-\x1f\x7f]*")
_REFERENCE = re.compile(r"\{services\.([^{}.]*)(?:\.([^{}]*))?\}")

NAME_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
PORT, HOST = "port", "host"

TOOLS_URL, TOOLS_COMMAND = "{mcp.url}", "{mcp.command}"
"""What stands in a literal for the way to the tools that the gate answers for."""


def plain_path(path: str) -> str:
    """Return the path and query of a request as they are. Raises `ValueError` if they are none."""
    if not _PATH.fullmatch(path):
        raise ValueError("a path begins with one `/` and holds no white space, `#` or backslash")
    return path


class Ready(Spec):
    """How the gate sees that the server can be asked."""

    path: Annotated[str, Field(max_length=2000), AfterValidator(plain_path)] | None = None
    """Asked with GET until it answers 2xx. Default: the server is ready when it accepts
    connections."""
    timeout_seconds: float = Field(default=30, gt=0, le=3600)
    """How long the start may take."""


class ServiceSpec(Spec):
    """A server that an Agent's trials need, started before the first of them on each side."""

    name: Annotated[str, StringConstraints(pattern=NAME_PATTERN, max_length=63)]
    """Its name; `db` is at GATEVAL_SERVICE_DB, and at `{services.db.port}`."""
    command: tuple[str, ...] = Field(min_length=1)
    """A program and its arguments; `{port}` is the port that it has to listen on (PORT too),
    `{home}` its own HOME."""
    ready: Ready = Ready()
    """When the service can be asked."""
    env: dict[str, str] = {}
    """Environment variables with literal values; no secrets."""

    @property
    def variable(self) -> str:
        """The variable that holds `host:port` for everything that may ask it."""
        return f"GATEVAL_SERVICE_{self.name.upper().replace('-', '_')}"


def references(text: str) -> Iterator[tuple[str, str]]:
    """Yield the services that a text names: name and `port`, `host` or "" for both together."""
    yield from _REFERENCE.findall(text)


def filled(text: str, at: dict[str, tuple[str, int]]) -> str:
    """Return `text` with the addresses of services in the place of what names them.

    A host that is an IPv6 address has brackets where it stands beside its port (RFC 3986).
    """

    def value(found: re.Match[str]) -> str:
        if found[1] not in at:
            return found[0]
        host, port = at[found[1]]
        return {PORT: str(port), HOST: host}.get(found[2] or "", joined(host, port))

    return _REFERENCE.sub(value, text) if "{services." in text else text


def joined(host: str, port: int) -> str:
    """Return `host:port`."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


VARIABLE = "GATEVAL_PLAYGROUND"
"""The variable that holds the path of a trial's playground, in all that runs in the trial."""

PLAYGROUND = "{playground}"
"""Stands for that path in commands and literals of an Agent, and of services."""

OWN_FILES = "{agent}"
"""Stands for the folder of an Agent's own files, where its programs begin in the playground."""

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

    name: InnerPath = "playground.db"
    """The database's path in the playground."""
    source: str = Field(min_length=1)
    """What it is made of, relative to the manifest's folder: a script that ends in `.sql`, or else
    a database as it is."""

    @property
    def is_script(self) -> bool:
        """Whether statements make it."""
        return self.source.endswith(".sql")


class PlaygroundService(ServiceSpec):
    """A server that one trial has for itself, ended when its assertions are done."""

    folder: str | None = None
    """A folder of the repository, of which the service gets a copy to work in, and the candidate
    none; relative to the manifest's folder. Default: it works in a copy of its own of what the
    playground starts with."""


class PlaygroundSpec(Spec):
    """A folder that is made anew for each trial: the candidate works in it, assertions look at it.

    The candidate finds it at GATEVAL_PLAYGROUND, or at `{playground}` in `command` and `env`.
    """

    folder: str | None = None
    """A folder of the repository with what the playground starts with, relative to the manifest's
    folder. No Agent gets it otherwise."""
    files: tuple[str, ...] = ()
    """Further files, folders or patterns, relative to the manifest's folder, or to the root with a
    leading `/`. They stand at the same path in the playground, seen from where they are relative
    to."""
    sqlite: SqliteSpec | None = None
    env: dict[str, str] = {}
    """Environment variables of the candidate and the services; no secrets."""
    services: tuple[PlaygroundService, ...] = Field(default=(), max_length=16)
    """Servers beside it, started in this order."""

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
