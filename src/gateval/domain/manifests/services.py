"""Servers that an Agent needs beside it, such as a database, and how their addresses are named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from gateval.domain.base import Spec

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

    path: Annotated[str, Field(max_length=2000), AfterValidator(plain_path)] | None = Field(
        default=None,
        description="Asked with GET until it answers 2xx. Default: the server is ready when it "
        "accepts connections.",
    )
    timeout_seconds: float = Field(
        default=30, gt=0, le=3600, description="How long the start may take."
    )


class ServiceSpec(Spec):
    """A server that an Agent's trials need, started before the first of them on each side."""

    name: Annotated[str, StringConstraints(pattern=NAME_PATTERN, max_length=63)] = Field(
        description="Its name; `db` is at GATEVAL_SERVICE_DB, and at `{services.db.port}`."
    )
    command: tuple[str, ...] = Field(
        min_length=1,
        description="A program and its arguments; `{port}` is the port that it has to listen on "
        "(PORT too), `{home}` its own HOME.",
    )
    ready: Ready = Field(default=Ready(), description="When the service can be asked.")
    env: dict[str, str] = Field(
        default={}, description="Environment variables with literal values; no secrets."
    )

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
