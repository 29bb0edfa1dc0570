"""Files of the working tree that git ignores, so that nobody reads them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from stat import S_ISREG

from gateval.adapters.git.run import Git

_FILES = 200
"""Files that are opened, and of each the bytes that are read."""

_BYTES = 65_536
_ENTRIES = 20_000
"""Files and folders that are looked at, whatever they are called."""

_OTHERS = frozenset({"node_modules", "site-packages", "__pycache__", "vendor", "venv"})
"""Folders of what was installed or made; so are those whose names begin with a dot."""


def ignored_files(git: Git, root: Path, endings: tuple[str, ...]) -> Mapping[str, bytes]:
    """Return how the first ignored files whose names end so begin, by their paths from `root`.

    Not all are looked for, and what cannot be read is left out: this serves a hint.
    """
    listed = git.run(
        "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"
    ).out.split(b"\0")
    found: dict[str, bytes] = {}
    for path in islice(_walk(root, [os.fsdecode(one) for one in listed if one]), _ENTRIES):
        if path.endswith(endings) and len(found) < _FILES:
            data = _beginning(root / path)
            if data is not None:
                found[path] = data
    return found


def _walk(root: Path, listed: list[str]) -> Iterator[str]:
    for path in listed:
        if not path.endswith("/"):
            yield path
        elif not any(_is_other(part) for part in path.rstrip("/").split("/")):
            for folder, folders, files in os.walk(root / path):
                folders[:] = sorted(one for one in folders if not _is_other(one))
                above = Path(folder).relative_to(root)
                yield from (str(above / one) for one in sorted(files))


def _is_other(name: str) -> bool:
    return name in _OTHERS or name.startswith(".")


def _beginning(path: Path) -> bytes | None:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return os.read(file, _BYTES) if S_ISREG(os.fstat(file).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(file)
