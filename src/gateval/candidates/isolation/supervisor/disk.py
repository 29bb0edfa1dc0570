"""How much a candidate has written, noticed soon and at little cost.

Free space is asked for at every tick, which costs one system call; the candidate's own folders are
added up (by du) only when it shrank noticeably or some time has passed.
"""

from __future__ import annotations

import contextlib
import os
import select
import time

LOOK_SECONDS = 5.0
ENTRIES = 200_000
"""Files and folders that one candidate may have; more would fill the table of inodes."""


class DiskWatch:
    """Watches some folders. `cap` is in bytes.

    With `since_now`, what they hold at the first look does not count.
    """

    def __init__(self, folders: list[str], cap: int, *, since_now: bool) -> None:
        self._folders = folders
        self._cap = cap
        self._base: tuple[int, int] | None = None if since_now else (0, 0)
        self._looked = time.monotonic()
        self._free = self._ask()
        self._du: int | None = None
        self._answer = b""

    def over(self) -> bool:
        """Whether the folders are known to hold more than the cap."""
        if self._du is not None:
            return self._listen(self._du)
        bytes_free, files_free = self._ask()
        shrank = (
            self._free[0] - bytes_free > self._cap // 8 or self._free[1] - files_free > ENTRIES // 8
        )
        due = time.monotonic() - self._looked > LOOK_SECONDS
        if self._base is None or shrank or due:
            self._look()
        return False

    def _ask(self) -> tuple[int, int]:
        with contextlib.suppress(OSError):
            state = os.statvfs(self._folders[0]) if self._folders else None
            if state is not None:
                return state.f_bavail * state.f_frsize, state.f_ffree
        return 0, 0

    def _look(self) -> None:
        """Start adding up; the answer is taken at a later tick."""
        if not self._folders:
            return
        inward, outward = os.pipe()
        where = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, outward, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        script = 'du -sck -- "$@" | tail -n 1; du -sc --inodes -- "$@" | tail -n 1'
        argv = ["sh", "-c", script, "sh", *self._folders]
        with contextlib.suppress(OSError):
            os.posix_spawnp("sh", argv, {"PATH": os.defpath}, file_actions=where)
        os.close(outward)
        self._du, self._answer = inward, b""

    def _listen(self, du: int) -> bool:
        """Read what du said so far; nobody waits for it."""
        while select.select([du], [], [], 0)[0]:
            part = os.read(du, 4096)
            self._answer += part
            if not part:
                os.close(du)
                self._du, self._looked, self._free = None, time.monotonic(), self._ask()
                return self._too_much()
        return False

    def _too_much(self) -> bool:
        numbers = [int(line.split()[0]) for line in self._answer.splitlines() if line[:1].isdigit()]
        kilobytes, entries = [*numbers, 0, 0][:2]
        if self._base is None:
            self._base = kilobytes, entries
        over = (kilobytes - self._base[0]) * 1024 > self._cap
        return over or entries - self._base[1] > ENTRIES
