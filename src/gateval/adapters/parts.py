"""Finds stored results in a folder that may have been filled by strangers: as data, never followed.

The folder is that of one run, or holds the folders of several, as actions/download-artifact lays
them out. Links and everything else that is no plain file are refused, sizes are limited.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateval.adapters.shown_paths import show_here
from gateval.domain.text.figures import show_bytes
from gateval.errors import StageFileError

MOST_PARTS = 256
"""Jobs of a GitHub Actions matrix."""

_HINT = (
    "Give `results` the folder that the run step of the same version wrote, or one that holds such "
    "folders."
)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_parts(folder: Path, name: str, *, limit: int) -> tuple[bytes, ...]:
    """Return the contents of the file `name` of every run in `folder`, in the order of their names.

    `limit` counts bytes of all of them together. Raises `StageFileError` when there is none, when
    one is no plain file, and when they are too many or too large.
    """
    found: list[bytes] = []
    left = limit
    with _opened(folder) as top:
        alone = _read(top, name, limit)
        if alone is not None:
            return (alone,)
        inside = [one.name for one in os.scandir(top) if one.is_dir(follow_symlinks=False)]
        for each in sorted(inside):
            with _entered(top, each) as inner:
                content = _read(inner, name, left)
            if content is not None:
                found.append(content)
                left -= len(content)
            if len(found) > MOST_PARTS:
                raise StageFileError(f"{show_here(folder)} holds too many results.")
    if not found:
        raise StageFileError(f"{show_here(folder)} holds no {name}.", hint=_HINT)
    return tuple(found)


def _read(folder: int, name: str, limit: int) -> bytes | None:
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StageFileError(f"{name} cannot be read: {error.strerror}.") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StageFileError(f"{name} is no plain file.", hint=_HINT)
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise StageFileError(
            f"{name} is larger than what the plan may take ({show_bytes(limit)} are left for it)."
        )
    return content


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    try:
        descriptor = os.open(folder, _FOLDER)
    except OSError as error:
        raise StageFileError(
            f"The folder {show_here(folder)} cannot be read: {error.strerror}.",
            hint="The input results names the folder that holds what the run step wrote.",
        ) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _entered(parent: int, name: str) -> Iterator[int]:
    descriptor = os.open(name, _FOLDER, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
