"""Parts of results that other jobs left, in a folder that strangers may have filled.

The folder is that of one run, or holds the folders of several, as actions/download-artifact lays
them out. Links and everything else that is no plain file are refused, sizes are limited.
"""

from __future__ import annotations

import hashlib
import os
import stat
from array import array
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, NamedTuple

from gateval.adapters.folders import opened_folder
from gateval.adapters.machine import show_here
from gateval.domain.text import show_bytes
from gateval.domain.trials.kept import KeptSteps, WrittenTrial
from gateval.domain.trials.trial import Trial
from gateval.errors import StageFileError

MOST_PARTS = 1_024
"""Jobs of some matrices of GitHub Actions, which has up to 256 in one."""

END_BYTES = 4_096
"""Bytes at the end of a file by which it may be passed over."""

_HINT = (
    "Give `results` the folder that the run step of the same version wrote, or one that holds such "
    "folders."
)
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class PartFile(NamedTuple):
    """An open file at `path`, of which at most `limit` bytes are read."""

    path: Path
    file: BinaryIO
    limit: int

    def content(self) -> bytes:
        """Return all of it. Raises `StageFileError` where it is empty or too large."""
        self.file.seek(0)
        content = self.file.read(self.limit + 1)
        if not content:
            raise StageFileError(f"{self.path.name} is empty.", hint=_HINT)
        if len(content) > self.limit:
            left = show_bytes(self.limit)
            raise StageFileError(
                f"{self.path.name} is larger than what the plan may take ({left} are left for it)."
            )
        return content


def opened_parts(
    folder: Path,
    name: str,
    *,
    limit: int,
    none: bool = False,
    skips: Callable[[bytes], bool] = lambda _: False,
) -> Iterator[PartFile]:
    """Yield the file `name` of every run in `folder`, in the order of their names.

    `limit` counts bytes of all of them together. Raises `StageFileError` when there is none, unless
    there may be `none`, when one is no plain file, and when they are too many or too large. What
    `skips` passes over by its end is not read.
    """
    found, left, skipped = 0, limit, False
    with ExitStack() as stack:
        try:
            top = stack.enter_context(opened_folder(folder, follow=False))
        except OSError as error:
            raise StageFileError(
                f"The folder {show_here(folder)} cannot be read: {error.strerror}.",
                hint="The input results names the folder that holds what the run step wrote.",
            ) from error
        alone = _opened(top, name)
        if alone is not None:
            with alone:
                if not _is_skipped(alone, skips):
                    yield PartFile(folder / name, alone, limit)
            return
        inside = [one.name for one in os.scandir(top) if one.is_dir(follow_symlinks=False)]
        for each in sorted(inside):
            with opened_folder(each, within=top, follow=False) as inner:
                file = _opened(inner, name)
            if file is None:
                continue
            with file:
                if _is_skipped(file, skips):
                    skipped = True
                    continue
                found += 1
                if found > MOST_PARTS:
                    raise StageFileError(f"{show_here(folder)} holds too many results.")
                yield PartFile(folder / each / name, file, left)
                left -= file.seek(0, os.SEEK_END)
    if not found and not none and not skipped:
        raise StageFileError(f"{show_here(folder)} holds no {name}.", hint=_HINT)


def _opened(folder: int, name: str) -> BinaryIO | None:
    """Open a file; None where there is none."""
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StageFileError(f"{name} cannot be read: {error.strerror}.") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StageFileError(f"{name} is no plain file.", hint=_HINT)
    return os.fdopen(descriptor, "rb")


def _is_skipped(file: BinaryIO, skips: Callable[[bytes], bool]) -> bool:
    size = os.fstat(file.fileno()).st_size
    return skips(os.pread(file.fileno(), END_BYTES, max(0, size - END_BYTES)))


_WINDOW = 32 * 1024
"""Bytes of a part that are read at a time."""


class LinesOfPart:
    """The trials of a part that lie in its file, each on a line: where it begins, where its steps
    are in it, and its SHA-256. Trials that are asked for in order are read several at a time.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._starts, self._places, self._digests = array("Q"), array("I"), bytearray()
        self._window = (0, b"")

    def add(self, start: int, line: bytes, steps: tuple[int, int]) -> int:
        """Return the number of a line that begins at byte `start` of the file, and whose steps are
        from the one byte of it up to the other.
        """
        self._starts.append(start)
        self._places.extend((len(line), *steps))
        self._digests += hashlib.sha256(line).digest()
        return len(self._starts) - 1

    def read(self, number: int) -> WrittenTrial:
        """Read a line. Raises `StageFileError`, also where it is not as it was."""
        size, start, end = self._places[3 * number : 3 * number + 3]
        line = self._bytes(self._starts[number], size)
        if hashlib.sha256(line).digest() != self._digests[32 * number : 32 * number + 32]:
            shown = show_here(self._path)
            raise StageFileError(f"{shown} was changed while it was read.", hint=_HINT)
        return WrittenTrial(line, start, end)

    def _bytes(self, start: int, size: int) -> bytes:
        at, known = self._window
        if not at <= start <= start + size <= at + len(known):
            try:
                with os.fdopen(os.open(self._path, _FILE), "rb", buffering=0) as file:
                    known = os.pread(file.fileno(), max(size, _WINDOW), start)
            except OSError as error:
                shown = show_here(self._path)
                raise StageFileError(f"{shown} cannot be read: {error.strerror}.") from error
            at, self._window = start, (start, known if size <= _WINDOW else b"")
        return known[start - at : start - at + size]


class StepsOfPart(KeptSteps):
    """The steps of a trial that is a line of a part. `whole` is the trial that was read there."""

    __slots__ = ("_lines", "_number", "whole")

    def __init__(self, length: int, lines: LinesOfPart, number: int, *, errors: bool) -> None:
        super().__init__(length, errors=errors)
        self._lines, self._number = lines, number
        self.whole: Trial | None = None

    def found(self) -> bytes:
        """Read them. Raises `StageFileError`."""
        line, start, end = self._lines.read(self._number)
        return line[start:end]

    def written(self, trial: Trial) -> WrittenTrial | None:
        """Read the line of the trial. Raises `StageFileError` where that cannot be, and its steps
        were not stored anew.
        """
        if trial is not self.whole:
            return None
        try:
            return self._lines.read(self._number)
        except StageFileError:
            if self.stored is None:
                raise
            return None
