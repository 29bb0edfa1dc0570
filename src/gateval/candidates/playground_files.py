"""Looks into a folder that hostile code has filled, and copies it: links as links, nothing
outside.

No link is followed, at no step: each is opened as what it is, below the folder before. Nothing but
a regular file is read, which keeps us from a FIFO that nobody writes to, and never more of it than
the caller asks for.
"""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from gateval.domain.paths import show_path

Kind = Literal["file", "directory", "link", "other"]

ENTRIES = 10_000
"""Files and folders that are listed of a playground; more cannot be looked at."""

DEPTH = 64
"""How many folders deep is looked."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class StateUnreadable(Exception):
    """The end state cannot be looked at, though something is there. A clause says why."""


class FoundPath(NamedTuple):
    """What stands at a path: its kind, and for a file its size in bytes."""

    kind: Kind
    size: int = 0


class ListedFile(NamedTuple):
    """One entry of a folder: its path from there, as git would show it, and what it is."""

    path: str
    found: FoundPath


def look(root: Path, path: str) -> FoundPath | None:
    """Return what stands at a path below `root`; None if nothing does, or a link is on the way.
    `path` has no `.`, `..` or empty step. Raises `StateUnreadable`.
    """
    with _around(root, path) as (folder, name):
        return None if folder is None else _found(folder, name)


def content(root: Path, path: str, limit: int) -> bytes | FoundPath | None:
    """Return the bytes of a file, what else stands there, or None for nothing. Raises
    `StateUnreadable`, also for a file of more than `limit` bytes.
    """
    with _around(root, path) as (folder, name):
        found = None if folder is None else _found(folder, name)
        if folder is None or found is None or found.kind != "file":
            return found
        if found.size > limit:
            raise StateUnreadable(f"{show_path(path)} has {found.size:,} bytes, over {limit:,}")
        try:
            opened = os.open(name, _FILE, dir_fd=folder)
        except OSError as error:
            raise _unreadable(path, error) from None
        with os.fdopen(opened, "rb") as file:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                return FoundPath("other")
            data = file.read(limit + 1)
    if len(data) > limit:
        raise StateUnreadable(f"{show_path(path)} has more than {limit:,} bytes")
    return data


def listing(
    root: Path, path: str = "", *, deep: bool = True
) -> list[ListedFile] | FoundPath | None:
    """Return what a folder holds, sorted, with what is below it if `deep`; "" is `root` itself.

    What is no folder is told, None for nothing. Raises `StateUnreadable`, also for more than
    `ENTRIES` entries or `DEPTH` levels.
    """
    if path:
        found = look(root, path)
        if found is None or found.kind != "directory":
            return found
    with _around(root, f"{path}/_" if path else "_") as (folder, _):
        if folder is None:
            return None
        listed: list[ListedFile] = []
        _list(folder, "", listed, DEPTH if deep else 0, deep=deep)
    return sorted(listed)


def _list(folder: int, before: str, listed: list[ListedFile], left: int, *, deep: bool) -> None:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for _, entry in zip(range(ENTRIES + 1), entries, strict=False)]
    except OSError as error:
        raise _unreadable(before or ".", error) from None
    for name in names:
        if len(listed) >= ENTRIES:
            raise StateUnreadable(f"there are more than {ENTRIES:,} files and folders")
        found = _found(folder, name)
        if found is None:
            continue
        path = f"{before}{name}"
        listed.append(ListedFile(show_path(path), found))
        if deep and found.kind == "directory":
            if not left:
                raise StateUnreadable(f"folders stand in one another more than {DEPTH} deep")
            try:
                inner = os.open(name, _FOLDER, dir_fd=folder)
            except OSError as error:
                raise _unreadable(path, error) from None
            try:
                _list(inner, f"{path}/", listed, left - 1, deep=deep)
            finally:
                os.close(inner)


@contextlib.contextmanager
def _around(root: Path, path: str) -> Iterator[tuple[int | None, str]]:
    """Open the folder that a path's last step is in; None where a step is no folder, or a link."""
    *steps, name = path.split("/")
    folder: int | None = None
    try:
        folder = os.open(root, _FOLDER)
        for step in steps:
            inner = _inner(folder, step, path)
            os.close(folder)
            folder = inner
            if folder is None:
                break
        yield folder, name
    finally:
        if folder is not None:
            os.close(folder)


def _inner(folder: int, step: str, path: str) -> int | None:
    found = _found(folder, step)
    if found is None or found.kind != "directory":
        return None
    try:
        return os.open(step, _FOLDER, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(path, error) from None


def _found(folder: int, name: str) -> FoundPath | None:
    try:
        state = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from None
    if stat.S_ISREG(state.st_mode):
        return FoundPath("file", state.st_size)
    if stat.S_ISDIR(state.st_mode):
        return FoundPath("directory")
    return FoundPath("link" if stat.S_ISLNK(state.st_mode) else "other")


def _unreadable(path: str, error: OSError | ValueError) -> StateUnreadable:
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return StateUnreadable(f"{show_path(path)} cannot be read: {said}")


COPY_SECONDS = 60
COPY_BYTES = 256 * 1024 * 1024
"""Bytes of an end state that are copied for a command."""


class NotCopied(Exception):
    """A folder could not be copied; a clause says why."""


def copied(source: Path, scratch: Path) -> Path:
    """Return a fresh folder below `scratch`, for its owner alone, with all that `source` holds. cp
    does it, which follows no link with -P and opens no FIFO with -R. Raises `NotCopied`.
    """
    target = Path(tempfile.mkdtemp(prefix="playground-", dir=scratch))
    copy_into(source, target)
    return target


def copy_into(source: Path, target: Path) -> None:
    """Copy what a folder holds into one that is empty. Raises `NotCopied`."""
    try:
        done = subprocess.run(
            ["cp", "-RP", "--", f"{source}/.", str(target)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={"PATH": os.defpath},
            timeout=COPY_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotCopied(f"it could not be copied: {error}") from None
    if done.returncode:
        said = done.stderr[:500].decode("utf-8", "replace").strip()
        raise NotCopied(f"it could not be copied: {said}")


def state_copied(root: Path, scratch: Path) -> Path:
    """Return a copy of an end state, which a candidate has left. Raises `StateUnreadable`."""
    found = listing(root)
    if isinstance(found, list):
        size = sum(one.found.size for one in found)
        if size > COPY_BYTES:
            raise StateUnreadable(f"its files have {size:,} bytes, over {COPY_BYTES:,}")
    try:
        return copied(root, scratch)
    except NotCopied as error:
        raise StateUnreadable(str(error)) from None
