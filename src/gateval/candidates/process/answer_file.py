"""Reads the file that a candidate left as its answer. It may have left anything there."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath

from gateval.candidates.contract.claims import ClaimError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_answer_file(home: Path, name: str, most: int) -> bytes:
    """Return the content of the file `name` below `home`, at most `most` bytes.

    No part of the way may be a link, and the file must be a plain one without a second name: a link
    could lead to what only the gate may read. Raises `ClaimError`.
    """
    *folders, last = PurePosixPath(name).parts
    opened: list[int] = []
    try:
        opened.append(os.open(home, _FOLDER))
        for folder in folders:
            opened.append(os.open(folder, _FOLDER, dir_fd=opened[-1]))
        opened.append(os.open(last, _FILE, dir_fd=opened[-1]))
        found = os.fstat(opened[-1])
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise ClaimError(f"`{name}` in its HOME is no plain file")
        if found.st_size > most:
            raise ClaimError(f"`{name}` has {found.st_size:,} bytes, more than {most:,}")
        with os.fdopen(opened.pop(), "rb") as file:
            return file.read(most)
    except FileNotFoundError:
        raise ClaimError(f"it wrote no file `{name}` into its HOME")
    except OSError as error:
        raise ClaimError(f"`{name}` in its HOME cannot be read: {os.strerror(error.errno or 0)}")
    finally:
        for descriptor in opened:
            os.close(descriptor)
