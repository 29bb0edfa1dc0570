"""Folders that only one process group is meant to use, gone when it is."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

REMOVE_SECONDS = 60


@dataclass(frozen=True)
class PrivateFolders:
    """The folders that become HOME and TMPDIR of a process."""

    home: Path
    tmp: Path


@contextlib.asynccontextmanager
async def private_folders(scratch: Path) -> AsyncIterator[PrivateFolders]:
    """Make fresh folders below `scratch`, readable by nobody else; remove them on the way out."""
    root = Path(tempfile.mkdtemp(prefix="candidate-", dir=scratch))
    folders = PrivateFolders(home=root / "home", tmp=root / "tmp")
    try:
        folders.home.mkdir(mode=0o700)
        folders.tmp.mkdir(mode=0o700)
        yield folders
    finally:
        try:
            for folder in (folders.home, folders.tmp, root):
                folder.rmdir()
        except OSError:
            await asyncio.to_thread(remove_tree, root)


def remove_tree(root: Path) -> None:
    """Remove a folder that a hostile program has filled; whatever resists is left, never raised.

    rm does it and not `shutil.rmtree`, which opens a file per level of depth: a folder nested
    2,000 deep would take the gate's files away from all other trials.
    """
    for command in (["rm", "-rf"], ["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        if not os.path.lexists(root):
            return
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                [*command, "--", str(root)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.defpath},
                timeout=REMOVE_SECONDS,
                check=False,
            )
