"""End states that wait on disk for programs that are started when no candidate lives.

They lie in a folder of the gate's own beside the run's: no candidate may go there, what ends
candidates does not remove it, and it outlives a gate that is killed. Then a record in it says of
which trials they are, and a later run removes it when a day has passed.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gateval.candidates.playground.reading import Unreadable, listing
from gateval.candidates.playground.state import EndState, NotLookedAt
from gateval.candidates.process.private import remove_tree
from gateval.candidates.process.program import MIB
from gateval.domain.trials.trial import Cause, TrialKey

WAITING_BYTES = 1024 * MIB
"""Of all end states that wait; beyond it no further trial begins until they are through."""

RECORD = "waiting.json"
PREFIX = "gateval-waiting-"
LEFT_SECONDS = 86_400
"""How long the folder of a run that was killed is left alone."""

_BLOCK = 4096


class WaitingStates:
    """Those of one run. Its folder is there from the first on, and goes with `close`."""

    def __init__(self, run: str, scratch: Path, limit: int = WAITING_BYTES) -> None:
        """`scratch` is the run's folder, beside which they wait, for `limit` bytes in all."""
        self._run = run
        self._beside = scratch.parent
        self._limit = limit
        self._folder: Path | None = None
        self._held: int | None = None
        self._kept: dict[TrialKey, tuple[Path, int]] = {}
        self._count = 0

    @property
    def full(self) -> bool:
        """Whether those that wait have to be through before another trial begins."""
        return sum(size for _, size in self._kept.values()) >= self._limit

    async def keep(self, key: TrialKey, state: EndState) -> None:
        """Have a trial's end state wait. One that cannot says why when it is looked at."""
        try:
            size = await asyncio.to_thread(_size, state.root, self._limit)
            folder = self._opened()
            self._count += 1
            state.keep(folder / str(self._count))
            self._kept[key] = (state.root, size)
            self._record(folder)
        except Unreadable as error:
            state.remove(error)
        except OSError as error:
            state.remove(NotLookedAt(Cause.GATE, f"the end state could not be kept: {error}"))

    async def remove(self, key: TrialKey) -> None:
        """Let go of a trial's end state, which nobody looks at any more."""
        found = self._kept.pop(key, None)
        if found is not None and self._folder is not None:
            await asyncio.to_thread(remove_tree, found[0])
            self._record(self._folder)

    def close(self) -> None:
        """Remove all of it."""
        if self._folder is not None:
            remove_tree(self._folder)
        if self._held is not None:
            os.close(self._held)
        self._folder = self._held = None

    def _opened(self) -> Path:
        if self._folder is None:
            for left in _left_behind(self._beside):
                remove_tree(left)
            self._folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=self._beside))
            self._held = _locked(self._folder)
        return self._folder

    def _record(self, folder: Path) -> None:
        """Write down of which trials they are, for who finds it when the run was killed."""
        trials = [
            {**key.model_dump(mode="json"), "folder": at.name, "bytes": size}
            for key, (at, size) in self._kept.items()
        ]
        fresh = folder / f"{RECORD}.new"
        fresh.write_text(json.dumps({"version": 1, "run": self._run, "trials": trials}))
        fresh.replace(folder / RECORD)


def _size(root: Path, limit: int) -> int:
    """Return what an end state may take on a disk. Raises `Unreadable`, also beyond the limit."""
    found = listing(root)
    listed = found if isinstance(found, list) else []
    size = sum(one.found.size + _BLOCK for one in listed)
    if size > limit:
        raise Unreadable(f"its files have {size:,} bytes, and {limit:,} may wait")
    return size


def _left_behind(beside: Path) -> Iterator[Path]:
    """Yield the folders of our user's runs that were killed more than a day ago."""
    for folder in beside.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            seen = folder.lstat()
            if seen.st_uid == os.geteuid() and seen.st_mtime < time.time() - LEFT_SECONDS:
                os.close(_locked(folder))
                yield folder


def _locked(folder: Path) -> int:
    """Hold a folder until this process ends. Raises `OSError` where another one does."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise
    return held
