"""Writes files below a folder, following no symbolic link."""

from __future__ import annotations

import os
from pathlib import Path

from gateval.adapters.folders import made_folder, replace_file
from gateval.domain.repository.paths import show_path
from gateval.errors import UsageError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_private(file: Path, content: bytes) -> None:
    """Write a new file that only the own user may read. Raises `UsageError`, also if one exists."""
    try:
        with os.fdopen(os.open(file, _NEW, 0o600), "wb") as stream:
            stream.write(content)
    except OSError as error:
        raise UsageError(f"{file} could not be written: {error.strerror}.") from None


def write_over(root: Path, path: str, text: str) -> None:
    """Write the file `path` below `root`, whatever is there. Raises as `write_new`."""
    folders, _, name = path.rpartition("/")
    try:
        with made_folder(root, root.resolve() / folders) as folder:
            replace_file(folder, name, text.encode())
    except OSError as error:
        raise _unwritten(path, error) from error


def write_new(root: Path, path: str, text: str) -> bool:
    """Write the file `path` below `root`, folders included; False when something is there.

    Raises `UsageError` when a folder on the way is a file or a link, leads up, or may not be
    written to.
    """
    if {".", "..", ""} & set(path.split("/")):
        raise UsageError(f"{show_path(path)} is no path below the repository's root.")
    folders, _, name = path.rpartition("/")
    try:
        with made_folder(root, root.resolve() / folders) as folder:
            file = os.open(name, _NEW, 0o644, dir_fd=folder)
            with os.fdopen(file, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
    except FileExistsError:
        return False
    except OSError as error:
        raise _unwritten(path, error) from error
    return True


def _unwritten(path: str, error: OSError) -> UsageError:
    return UsageError(
        f"{show_path(path)} could not be written: {error.strerror}.",
        hint="Each folder of the path has to be a real folder that you may write to.",
    )
