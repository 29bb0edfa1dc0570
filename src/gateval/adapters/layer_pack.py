"""A kept layer as one file and back: a signed digest, a list of what it holds, the contents.

Whoever can write a file can write its digest, so the digest says that a list is whole, not whose it
is. What it names is therefore looked at like any input.

Whoever keeps the file (actions/cache) compresses it. What a set-up made is hostile until proven
otherwise, and a file from a cache doubly so: only folders, files and links are taken, links are
made last, so that nothing is ever written through one, and no name leads out.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from gateval.adapters.layer_trust import FORMAT, is_signed, signature

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


_HEAD = re.compile(
    re.escape(FORMAT.encode()) + rb" (?P<digest>[0-9a-f]{64}) (?P<signature>[0-9a-f]{64})\n"
)
_LONGEST_HEAD = 200
_PIECE = 1024 * 1024
_LONGEST = 256 * 1024 * 1024
"""Bytes of the list."""


def pack(root: Path, name: str, file: IO[bytes], most: int, key: bytes) -> None:
    """Write the folder at `root` into an empty file, as the pack called `name`, signed by `key`.

    Raises `NotPacked` for what cannot be kept, or is larger than `most` bytes; `OSError`.
    """
    entries = tuple(entries_of(root, most))
    links = (one for one in entries if one.kind == "link")
    leads = [os.path.normpath((root / one.path).parent / one.content) for one in links]
    # what links lead to outside of the folder, and what is there: Python, above all
    leans_on = {path: _there(path) for path in leads if not Path(path).is_relative_to(root)}
    line = json.dumps([name, leans_on, entries]).encode() + b"\n"
    digest = hashlib.sha256(line).hexdigest()
    file.write(f"{FORMAT} {digest} {signature(key, name, digest)}\n".encode() + line)
    for entry in entries:
        if entry.kind == "file":
            with _opened(root / entry.path) as source:
                while piece := source.read(_PIECE):
                    file.write(piece)


def unpack(file: IO[bytes], name: str, root: Path, most: int, key: bytes | None) -> None:
    """Fill the empty folder `root` with the pack.

    Raises `NotPacked` when it is another one, was changed, has more than `most` bytes, or leans on
    what is no longer here. What `root` holds is then of no use.
    """
    listing = read_pack(file, name, most, key)
    refuse_changed(listing.leans_on)
    links = [entry for entry in listing.entries if entry.kind == "link"]
    for entry in listing.entries:
        if entry.kind == "folder":
            (root / entry.path).mkdir()
            (root / entry.path).chmod(0o755)
        elif entry.kind == "file":
            _write(file, entry, root / entry.path)
    for entry in links:
        (root / entry.path).symlink_to(entry.content)


def read_pack(file: IO[bytes], name: str, most: int, key: bytes | None) -> Listing:
    """Return the list of a pack, its digest and signature found right; the file stands at the
    contents then. Without a key whoever calls knows otherwise who made it.
    """
    if os.fstat(file.fileno()).st_size > most + _LONGEST:
        raise NotPacked("it is too large")
    said = _HEAD.fullmatch(file.readline(_LONGEST_HEAD))
    line = file.readline(_LONGEST)
    digest = hashlib.sha256(line).hexdigest()
    if said is None or said["digest"].decode() != digest:
        raise NotPacked("its content does not fit its digest")
    if key is not None and not is_signed(key, name, digest, said["signature"].decode()):
        raise NotPacked("it is not signed by the key of this gate")
    listing = read_listing(line)
    if listing.name != name:
        raise NotPacked("it is the content of another layer")
    return listing


def holds(root: Path, listing: Listing) -> bool:
    """Whether a folder holds exactly what the list says, and nothing else."""
    refuse_changed(listing.leans_on)
    size = sum(entry.size for entry in listing.entries)
    try:
        found = {entry.path: entry for entry in entries_of(root, size)}
    except (NotPacked, OSError):
        return False
    return found == {entry.path: entry for entry in listing.entries}


def entries_of(root: Path, most: int) -> Iterator[LayerFile]:
    """Yield all that is below a folder, folders before what is in them. Raises `NotPacked`."""
    waiting, count, size = [""], 0, 0
    while waiting:
        at = waiting.pop()
        with os.scandir(root / at) as found:
            for one in sorted(found, key=lambda entry: entry.name):
                path = f"{at}/{one.name}" if at else one.name
                info = one.stat(follow_symlinks=False)
                entry = _entry(root, path, info)
                count, size = count + 1, size + entry.size
                if size > most or count > ENTRIES:
                    raise NotPacked(f"it has over {most / 2**20:.1f} MiB or {ENTRIES:,} files")
                if entry.kind == "folder":
                    waiting.append(path)
                yield entry


def _entry(root: Path, path: str, info: os.stat_result) -> LayerFile:
    if stat.S_ISDIR(info.st_mode):
        return LayerFile(path, "folder")
    if stat.S_ISLNK(info.st_mode):
        return LayerFile(path, "link", content=str((root / path).readlink()))
    if not stat.S_ISREG(info.st_mode):
        raise NotPacked("it holds something that is no file, folder or link")
    mode = info.st_mode & 0o755 | 0o644
    with _opened(root / path) as source:
        reader = cast("io.BufferedReader", source)
        digest = hashlib.file_digest(reader, "sha256").hexdigest()
        return LayerFile(path, "file", mode, int(info.st_mtime), info.st_size, digest)


def _opened(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb")


def _write(file: IO[bytes], entry: LayerFile, target: Path) -> None:
    """Write the next `size` bytes of the pack, which have to have the hash that it says."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    said, left = hashlib.sha256(), entry.size
    with os.fdopen(os.open(target, flags, 0o600), "wb", buffering=0) as copy:
        while left and (piece := file.read(min(left, _PIECE))):
            said.update(piece)
            copy.write(piece)
            left -= len(piece)
        os.fchmod(copy.fileno(), entry.mode)
        os.utime(copy.fileno(), (entry.mtime, entry.mtime))
    if left or said.hexdigest() != entry.content:
        raise NotPacked("its content does not fit its digest")
