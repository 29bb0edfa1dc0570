"""Where kept layers lie to be used: one path each, and one run at a time.

Programs write absolute paths into what they install, so a layer has to be where it was made. The
folder is the gate's own user's alone; in /tmp somebody else may have been there first.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
import subprocess
from collections.abc import Iterable
from pathlib import Path

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
