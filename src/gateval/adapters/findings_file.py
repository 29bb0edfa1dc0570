"""The file in which `check` remembers what it found: read whole, replaced whole, by one at a time.

It lies in the repository's own git folder, where no commit can put anything, or in a folder that
the environment names.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gateval.adapters.folders import made_folder, opened_folder, replace_file

NAME = "findings.jsonl"
_LOCK = "findings.lock"
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_PATIENCE = 5.0
"""Seconds to wait for another run, which needs a few milliseconds."""


class FindingsFile:
    """The file in `folder`, a `real_path` of the repository at `root`.

    With `hidden`, git is told to leave the folder alone. Everything raises `OSError`.
    """

    def __init__(self, root: Path, folder: Path, *, hidden: bool) -> None:
        self._root = root
        self._folder = folder
        self._hidden = hidden
        self.path = folder / NAME

    def read(self, most: int) -> bytes:
        """Return its content, of a larger one the last `most` bytes; nothing if there is none."""
        try:
            with opened_folder(self._folder) as folder:
                return _content(folder, most)
        except FileNotFoundError:
            return b""

    def change(self, edit: Callable[[bytes], bytes], most: int) -> None:
        """Replace its content by what `edit` makes of it; who comes second sees the first's."""
        with made_folder(self._root, self._folder) as folder, _alone(folder):
            if self._hidden:
                replace_file(folder, ".gitignore", b"*\n")
            try:
                before = _content(folder, most)
            except FileNotFoundError:
                before = b""
            replace_file(folder, NAME, edit(before))


def _content(folder: int, most: int) -> bytes:
    file = os.open(NAME, _READ, dir_fd=folder)
    with os.fdopen(file, "rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - most))
        return stream.read(most)


@contextmanager
def _alone(folder: int) -> Iterator[None]:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    lock = os.open(_LOCK, flags, 0o600, dir_fd=folder)
    deadline = time.monotonic() + _PATIENCE
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)  # another check writes it, which takes milliseconds
        yield
    finally:
        os.close(lock)
