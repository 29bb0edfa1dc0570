"""The folder of kept layers: one file each, the least recently used give way; and where they lie
to be used.

A run that may not write reads only: it neither keeps, nor removes, nor marks what it used. A file
that is not whole, not signed, or not ours is passed over and told; the layer is then made anew.

Programs write absolute paths into what they install, so a layer has to be where it was made. The
folder is the gate's own user's alone; in /tmp somebody else may have been there first.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Self

from gateval.adapters.folders import hand_over
from gateval.adapters.layer_pack import NotPacked, holds, pack, read_pack, unpack
from gateval.adapters.layer_trust import mend, refuse_way, trusted_owners

DIGITS = 32
"""Of the digest, in a layer's path: enough to be unique, short enough for a `#!` line."""


class Places:
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
        self._places = Places(parent, folder)
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
