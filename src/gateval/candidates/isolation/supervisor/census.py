"""The processes below this one: who they are, how much memory they hold, and the end of them.

Descent cannot be escaped: this process is their subreaper, so a daemon becomes its child.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable, Iterator

PAGE = os.sysconf("SC_PAGE_SIZE")

STOP_PASSES = 20
"""How often processes that came up meanwhile are looked for before the killing begins."""


def descendants(since: int = 0) -> Iterator[int]:
    """Give the ids of all processes below this one, parents first.

    Children of this process that started before `since` are left out, with all below them.
    """
    waiting = [pid for pid in _children(os.getpid()) if started_at(pid) >= since]
    seen = set()
    while waiting:
        pid = waiting.pop()
        if pid not in seen:
            seen.add(pid)
            yield pid
            waiting += _children(pid)


def _children(pid: int) -> list[int]:
    """Return the children of all threads of a process (proc(5), `task/*/children`)."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with (
                contextlib.suppress(OSError),
                open(f"/proc/{pid}/task/{thread}/children", "rb") as file,
            ):
                found += map(int, file.read().split())
    return found


def started_at(pid: int) -> int:
    """Return when a process started, in clock ticks since the boot (proc(5)); -1 if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except OSError:
        return -1


def measure(most: int, spared: int = 0) -> tuple[int, int]:
    """Return how many threads all descendants have, and how many bytes of memory of their own.

    The process `spared` is not counted; what descends from it is.

    Pages that are shared after a fork count for each who has them. Stops counting at `most`.
    """
    tasks, pages = 0, 0
    for pid in descendants():
        if pid == spared:
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{pid}/statm", "rb") as file:
                _, resident, shared = file.read().split()[:3]
            pages += int(resident) - int(shared)
            tasks += os.stat(f"/proc/{pid}/task").st_nlink - 2
        if tasks > most:
            break
    return tasks, pages * PAGE


def kill_descendants(group: int, since: int = 0) -> bool:
    """Send SIGKILL to a process group, if any, and to all descendants. False if there were none.

    Children of this process that started before `since` are spared, with all below them.

    The group goes first, because the kernel kills a whole group at once, however fast it forks. The
    others are stopped before they are killed: a stopped process still counts for the user's limit
    of processes, so that what has not been reached yet cannot fork in its place.
    """
    if group:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    known: set[int] = set()
    for _ in range(STOP_PASSES):
        fresh = [pid for pid in descendants(since) if pid not in known]
        if not fresh:
            break
        _signal_all(fresh, signal.SIGSTOP)
        known.update(fresh)
    if known:
        _signal_all(descendants(since), signal.SIGKILL)
    return bool(known)


def _signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def user_has_processes(user: int) -> bool:
    """Whether any process runs as this user (getpriority(2) says so without a look at /proc)."""
    try:
        os.getpriority(os.PRIO_USER, user)
    except ProcessLookupError:
        return False
    return True


def kill_user(user: int) -> None:
    """Send SIGKILL to all processes of a user at once, which no fork bomb can outrun.

    A child does it as that user, by kill(-1). Its real and saved user is one that nobody else has,
    so that it cannot be signalled itself, and it has no right to reach anybody else.
    """
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresuid(user + 1, user, user + 1)
            os.kill(-1, signal.SIGKILL)
        except OSError:
            pass
        finally:
            os._exit(0)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)
