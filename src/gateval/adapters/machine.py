"""The machine: its certificate authorities, for git, the forge's API and the models alike.

Each of the three replaces the machine's authorities by a file that it is given. So one file is made
that holds both: one variable must not keep the gate from what it reached without it.

What standard output can show: a terminal has a width and colours, a file or pipe neither.

The real clock.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO

from gateval.domain.paths import show_path
from gateval.domain.text import PAPER, Screen
from gateval.errors import CA_VARIABLE, UsageError

SIZE_LIMIT = 4 * 1024 * 1024
_CERTIFICATE = re.compile(
    r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----", re.ASCII
)


@contextmanager
def own_authorities(environ: MutableMapping[str, str]) -> Iterator[None]:
    """While the block runs, have the variable name a file that holds the machine's CAs as well.

    Its value may be the name of a file, or the certificates themselves in PEM. Raises `UsageError`.
    """
    given = environ.get(CA_VARIABLE, "").strip()
    if not given:
        yield
        return
    import ssl  # which commands that reach nobody do without

    own = _own(given, environ)
    # the authorities that the machine trusts, or Mozilla's where it has no file
    name = environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    if not name or not Path(name).is_file():
        import certifi

        name = certifi.where()
    with TemporaryDirectory(prefix="gateval-ca-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "ca.pem"
        machines = Path(name).read_text(encoding="utf-8", errors="replace")
        path.write_text(f"{machines}\n{own}\n", encoding="utf-8")
        environ[CA_VARIABLE] = str(path)
        try:
            yield
        finally:
            environ[CA_VARIABLE] = given


def _own(given: str, environ: Mapping[str, str]) -> str:
    """Return the certificates, and nothing else that the file may hold."""
    import ssl

    text = given if "-----BEGIN" in given else _read(given, environ)
    found = "\n".join(_CERTIFICATE.findall(text))
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=found)
    except (ssl.SSLError, ValueError) as error:  # a broken one, or none at all
        raise UsageError(
            f"{CA_VARIABLE} holds no certificate that can be read.",
            hint="It is a file, or text, with -----BEGIN CERTIFICATE----- and so on (PEM).",
        ) from error
    return found


def _read(name: str, environ: Mapping[str, str]) -> str:
    workspace = environ.get("GITHUB_WORKSPACE", "")
    path = Path(name)
    if workspace and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(workspace)):
        raise UsageError(
            f"{CA_VARIABLE} names a file in the workspace, where a pull request can put its own.",
            hint="Keep the certificates in a variable of the organisation; hand over its value.",
        )
    try:
        with path.open("rb") as file:
            return file.read(SIZE_LIMIT).decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(
            f"{CA_VARIABLE} names {show_path(name)}, which cannot be read: {error.strerror}."
        ) from error


NARROWEST = 60
"""Columns; the most are those of `PAPER`, as longer lines are hard to read."""


def is_plain(environ: Mapping[str, str]) -> bool:
    """Whether the environment asks for text without colours and moving lines."""
    return "NO_COLOR" in environ or environ.get("TERM") == "dumb"


def screen_of(stream: TextIO, environ: Mapping[str, str]) -> Screen:
    """Return the screen that `stream` writes to; `PAPER` unless it is a terminal."""
    if not stream.isatty():
        return PAPER
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return PAPER
    width = min(max(columns, NARROWEST), PAPER.width) if columns else PAPER.width
    return Screen(width, color=not is_plain(environ))


def show_here(path: Path) -> str:
    """Return a path relative to the working folder if it lies inside; odd characters quoted."""
    here = Path.cwd()
    inside = path.is_absolute() and path.is_relative_to(here) and path != here
    return show_path(str(path.relative_to(here) if inside else path))


class SystemClock:
    """Fulfils `ports.clock.Clock` with the time of this machine."""

    def monotonic(self) -> float:
        """Seconds that only grow, from an arbitrary start."""
        return time.monotonic()

    def utc_now(self) -> str:
        """The present to the second, e.g. `2026-11-20T09:30:00Z`."""
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
