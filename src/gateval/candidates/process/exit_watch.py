"""Notices that a process has ended, without reaping it where the system allows that.

As long as the process is not reaped its id cannot be given to another one, so its group can still
be killed without hitting a stranger.
"""

from __future__ import annotations

import asyncio
import os
import subprocess

POLL_SECONDS = 0.02


class ExitWatch:
    """`exited` is done once the process has ended.

    Linux tells through a pidfd (pidfd_open(2)). Elsewhere, or where that is forbidden, the process
    is polled, and thereby reaped.
    """

    def __init__(self, process: subprocess.Popen[bytes], *, poll: bool = False) -> None:
        self._loop = asyncio.get_running_loop()
        self._process = process
        self._timer: asyncio.TimerHandle | None = None
        self._fd = None if poll else _open(process.pid)
        self.exited: asyncio.Future[None] = self._loop.create_future()
        if self._fd is None:
            self._poll()
        else:
            self._loop.add_reader(self._fd, self._done)

    def _poll(self) -> None:
        if self._process.poll() is None:
            self._timer = self._loop.call_later(POLL_SECONDS, self._poll)
        else:
            self._done()

    def _done(self) -> None:
        self.close()
        if not self.exited.done():
            self.exited.set_result(None)

    def close(self) -> None:
        """Watch no longer."""
        if self._timer is not None:
            self._timer.cancel()
        if self._fd is not None:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = None


def _open(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, an old kernel, or a sandbox that forbids it
        return None
