"""The folder of kept layers: one file each, the least recently used give way; and where they lie
to be used.

A run that may not write reads only: it neither keeps, nor removes, nor marks what it used. A file
that is not whole, not signed, or not ours is passed over and told; the layer is then made anew.

Programs write absolute paths into what they install, so a layer has to be where it was made. The
folder is the gate's own user's alone; in /tmp somebody else may have been there first.

A kept layer as one file and back: a signed digest, a list of what it holds, the contents.

Whoever can write a file can write its digest, so the digest says that a list is whole, not whose it
is. What it names is therefore looked at like any input.

Whoever keeps the file (actions/cache) compresses it. What a set-up made is hostile until proven
otherwise, and a file from a cache doubly so: only folders, files and links are taken, links are
made last, so that nothing is ever written through one, and no name leads out.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, Self, cast

from gateval.adapters.folders import hand_over
from gateval.adapters.layer_trust import (
    FORMAT,
    is_signed,
    mend,
    refuse_way,
    signature,
    trusted_owners,
)

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


DIGITS = 32
"""Of the digest, in a layer's path: enough to be unique, short enough for a `#!` line."""


class LayerFolders:
    """The folders of layers, in one below `parent` for all that is kept in the folder `kept`.

    Raises `OSError` if it is not ours alone.
    """

    def __init__(self, parent: Path, kept: Path) -> None:
        whose = hashlib.sha256(os.fsencode(kept)).hexdigest()[:8]
        self.parent = parent / f"gateval-layers-{os.geteuid()}-{whose}"
        self._locks: dict[str, int] = {}
        with contextlib.suppress(FileExistsError):
            self.parent.mkdir(mode=0o711)
        found = self.parent.lstat()
        loose = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or loose:
            raise PermissionError(1, "belongs to somebody else", str(self.parent))
        self.parent.chmod(0o711)  # users of candidates pass through it to their layers

    def take(self, digest: str) -> Path | None:
        """Return the folder for a layer, held until `close`; None while another run holds it."""
        name = digest[:DIGITS]
        if name not in self._locks:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                lock = os.open(self.parent / f"{name}.lock", flags, 0o600)
            except OSError:
                return None
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                mine = os.path.samestat(os.fstat(lock), (self.parent / f"{name}.lock").stat())
            except OSError:
                mine = False
            if not mine:  # somebody holds it, or has removed it meanwhile
                os.close(lock)
                return None
            self._locks[name] = lock
        return self.parent / name

    def close(self, kept: Iterable[str]) -> None:
        """Remove the folders of all layers but those that are kept: the next run looks through
        these, which is quicker than to write them.
        """
        stay = {digest[:DIGITS] for digest in kept}
        for name in [entry.stem for entry in self.parent.glob("*.lock") if entry.stem not in stay]:
            with contextlib.suppress(OSError):
                if self.take(name) is not None:
                    remove(self.parent / name)
                    (self.parent / f"{name}.lock").unlink(missing_ok=True)
        for lock in self._locks.values():
            os.close(lock)
        self._locks.clear()


def remove(path: Path) -> None:
    """Remove a folder that a hostile program has filled, however deep; what resists is left."""
    subprocess.run(
        ["rm", "-rf", "--", str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.defpath},
        check=False,
    )


SUFFIX = ".layer"
_NEW = ".new-"
_FILE = re.compile(r"[0-9a-f]{64}\.layer")
_STALE_SECONDS = 3_600

Tell = Callable[[str], None]


class LayerStore:
    """Fulfils `ports.layers.KeptLayers` with the files of an open folder. Use it as a context.

    What is kept is signed by `key`. Without one nothing is written, and what is read was made by
    nobody else: whoever calls knows that. `most` bytes are kept at most, of one layer half of that.
    `tell` takes a sentence.
    """

    def __init__(
        self,
        folder: Path,
        parent: Path,
        *,
        workspace: Path,
        key: bytes | None,
        writes: bool,
        most: int,
        tell: Tell,
    ) -> None:
        self._folder = folder
        self._workspace = workspace
        self._key = key
        self._writes = writes
        self._most = most
        self._tell = tell
        self._owners = trusted_owners(workspace)
        refuse_way(parent.resolve(), self._owners)
        self._places = LayerFolders(parent, folder)
        self._names: dict[Path, str] = {}
        self._given: dict[str, Path | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            kept = [entry.name.removesuffix(SUFFIX) for entry in os.scandir(self._folder)]
            self._places.close(kept)

    def place(self, digest: str) -> Path | None:
        """Return the folder for this layer, as it is on this machine; None if it is in use."""
        if digest not in self._given:
            parts = (digest, str(self._places.parent), machine())
            name = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
            place = self._places.take(name)
            if place is not None:
                self._names[place] = name
            self._given[digest] = place
        return self._given[digest]

    def restore(self, place: Path) -> bool:
        """Put back what was kept for this place. False if there is none that is whole."""
        name = self._names[place]
        path = self._folder / f"{name}{SUFFIX}"
        try:
            with self._opened(path) as stream:
                if not holds(place, read_pack(stream, name, self._most, self._key)):
                    stream.seek(0)
                    self._fill(place, stream, name)
                if self._writes:
                    os.utime(stream.fileno())
        except (NotPacked, OSError) as error:
            remove(place)
            if os.path.lexists(path):
                if self._writes:
                    with contextlib.suppress(OSError):
                        path.unlink()
                self._tell(f"A kept set-up is not used and made anew: {_said(error)}.")
            return False
        return True

    def _opened(self, path: Path) -> IO[bytes]:
        """Open a kept file that is ours. Raises `NotPacked` for what is none, and `OSError`."""
        if not stat.S_ISREG(path.lstat().st_mode):
            raise NotPacked("it is a link, or no file")
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        stream = os.fdopen(file, "rb")
        try:
            mend(file, path, self._owners, 0o600)
        except OSError:
            stream.close()
            raise
        return stream

    def keep(self, place: Path) -> None:
        """Keep what lies there; others give way for it."""
        if not self._writes or self._key is None:
            return
        name = self._names[place]
        new = self._folder / f"{_NEW}{os.urandom(8).hex()}"
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(new, flags, 0o600), "w+b") as stream:
                pack(place, name, stream, self._most // 2, self._key)
                stream.flush()
                os.fsync(stream.fileno())
            new.rename(self._folder / f"{name}{SUFFIX}")
            self._make_room()
            hand_over(self._folder, self._workspace)
        except (NotPacked, OSError) as error:
            with contextlib.suppress(OSError):
                new.unlink()
            self._tell(f"A set-up is not kept for later runs: {_said(error)}.")

    def _fill(self, place: Path, stream: IO[bytes], name: str) -> None:
        remove(place)
        place.mkdir(mode=0o755)
        place.chmod(0o755)
        unpack(stream, name, place, self._most, self._key)

    def _make_room(self) -> None:
        """Remove the least recently used until all fits, and what a killed run was writing."""
        now, kept = time.time(), []
        for entry in os.scandir(self._folder):
            info = entry.stat(follow_symlinks=False)
            if entry.name.startswith(_NEW) and now - info.st_mtime > _STALE_SECONDS:
                Path(entry.path).unlink()
            elif _FILE.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                kept.append((info.st_mtime_ns, info.st_size, entry.path))
        total = sum(size for _, size, _ in kept)
        for _, size, path in sorted(kept):
            if total <= self._most:
                break
            Path(path).unlink()
            total -= size


def machine() -> str:
    """Return what of this machine a set-up depends on, beside the programs it links to."""
    try:
        system = Path("/etc/os-release").read_text("utf-8", "replace")
    except OSError:
        system = ""
    found = [shutil.which(name) or "" for name in ("python3", "node")]
    return "\0".join((sys.platform, os.uname().machine, system, *map(os.path.realpath, found)))


def _said(error: Exception) -> str:
    return (error.strerror or "it cannot be read") if isinstance(error, OSError) else str(error)
