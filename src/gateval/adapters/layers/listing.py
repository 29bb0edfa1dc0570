"""The list of what a pack holds: one line of JSON, believed only once everything in it is checked.

Whoever can write a file can write its digest, so the digest says that a list is whole, not whose it
is. What it names is therefore looked at like any input.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

ENTRIES = 500_000
"""Files, folders and links of one layer."""

_KINDS = ("folder", "file", "link")


class NotPacked(Exception):
    """A folder that cannot be packed, or a file that is no whole pack; the text says why."""


class LayerFile(NamedTuple):
    """One thing in a pack. `content` is the SHA-256 of a file in hex, or where a link leads."""

    path: str
    kind: str
    mode: int = 0
    mtime: int = 0
    size: int = 0
    content: str = ""


class Listing(NamedTuple):
    """All that a pack holds. `leans_on` is what links lead to outside of it, and what was there."""

    name: str
    leans_on: Mapping[str, Any]
    entries: tuple[LayerFile, ...]

    def line(self) -> bytes:
        """Return it as a line of JSON."""
        return json.dumps([self.name, self.leans_on, self.entries]).encode() + b"\n"


def read_listing(line: bytes) -> Listing:
    """Read a list. Raises `NotPacked` for one that is none, or that names what it must not."""
    try:
        name, leans_on, rows = json.loads(line)
        entries = tuple(LayerFile(*row) for row in rows)
        sound = isinstance(leans_on, dict) and len(entries) <= ENTRIES
        sound = sound and all(map(_sound, entries))
    except (ValueError, TypeError, RecursionError) as error:
        raise NotPacked("its list cannot be read") from error
    if not sound or len({entry.path for entry in entries}) != len(entries):
        raise NotPacked("its list names something that no set-up makes")
    return Listing(name, leans_on, entries)


def _sound(entry: LayerFile) -> bool:
    """Whether a row has the right shape, stays inside, and asks for no rights."""
    texts = (entry.path, entry.kind, entry.content)
    numbers = (entry.mode, entry.mtime, entry.size)
    shaped = all(isinstance(text, str) and "\0" not in text for text in texts) and all(
        type(number) is int and 0 <= number < 2**40 for number in numbers
    )
    return (
        shaped
        and entry.kind in _KINDS
        and not {"", ".", ".."} & set(entry.path.split("/"))
        and entry.mode | 0o755 == 0o755
    )


def outside(root: Path, entries: Iterable[LayerFile]) -> dict[str, Any]:
    """Return what links lead to outside of the folder, and what is there: Python, above all."""
    found: dict[str, Any] = {}
    for entry in entries:
        if entry.kind == "link":
            leads = os.path.normpath((root / entry.path).parent / entry.content)
            if not Path(leads).is_relative_to(root):
                found[leads] = _there(leads)
    return found


def refuse_changed(leans_on: Mapping[str, Any]) -> None:
    """Raise `NotPacked` if something that links lead to is not what it was."""
    for path, before in leans_on.items():
        if "\0" in path or _there(path) != before:
            raise NotPacked("it leans on a program of this machine that has changed")


def _there(path: str) -> list[Any]:
    real = os.path.realpath(path)
    try:
        return [real, Path(real).stat().st_size]
    except OSError:
        return [real, -1]


def hash_of(file: IO[bytes]) -> str:
    """Return the SHA-256 of the rest of a file, in hex."""
    return hashlib.file_digest(cast("io.BufferedReader", file), "sha256").hexdigest()
