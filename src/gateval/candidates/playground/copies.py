"""Copies folders whole: links as links, FIFOs as FIFOs, and nothing outside of them."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from gateval.candidates.playground.reading import Unreadable, listing

COPY_SECONDS = 60
COPY_BYTES = 256 * 1024 * 1024
"""Bytes of an end state that are copied for a command."""


class NotCopied(Exception):
    """A folder could not be copied; a clause says why."""


def copied(source: Path, scratch: Path) -> Path:
    """Return a fresh folder below `scratch`, for its owner alone, with all that `source` holds.

    cp does it, which follows no link with -P and opens no FIFO with -R. Raises `NotCopied`.
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
    """Return a copy of an end state, which a candidate has left. Raises `Unreadable`."""
    found = listing(root)
    if isinstance(found, list):
        size = sum(one.found.size for one in found)
        if size > COPY_BYTES:
            raise Unreadable(f"its files have {size:,} bytes, over {COPY_BYTES:,}")
    try:
        return copied(root, scratch)
    except NotCopied as error:
        raise Unreadable(str(error)) from None
