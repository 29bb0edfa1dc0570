"""Which processes hold a socket, and from whom they descend: by proc(5) alone.

A candidate with the gate's user can end, hide and hand on while it is looked for. So what cannot be
told is never taken for an answer: a process that is gone or that hides may be anybody's.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_FIRST_NAMESPACE = 0xEFFFFFFC
"""`PROC_PID_INIT_INO`: from the first namespace of processes all others are seen."""

_PARENT, _BEGAN = 1, 19

_REMEMBERED = 8
"""Descriptors of a process that are looked at first."""

SUPERVISOR = b"gateval.candidates.isolation.supervisor"
"""What stands in the command line of each gate's supervisor of candidates."""

_OF_THE_GATE = 3
"""A process below the gate, the gate included, up to which it is the gate's own: the supervisor of
candidates and their guards, which hide. A candidate has one of these above it."""


class Holders:
    """Finds those who hold a socket. Where somebody was found once, he is looked at first: a server
    takes the same descriptors again and again, or the next one.
    """

    def __init__(self) -> None:
        self._known: dict[int, deque[int]] = {}
        self._began: dict[int, int] = {}

    def of(self, inode: int) -> tuple[int, ...]:
        """Return the processes that hold a socket, as far as their descriptors may be read. Of
        those `trusted` before, the first that holds it is enough.
        """
        wanted = f"socket:[{inode}]"
        for pid, numbers in self._known.items():
            for number in (max(numbers, default=0) + 1, *reversed(numbers)):
                if _leads_to(f"/proc/{pid}/fd/{number}") == wanted:
                    self._remember(pid, number)
                    return (pid,)
        for pid in self._known:
            if (found := _number_of(pid, wanted)) is not None:
                self._remember(pid, found)
                return (pid,)
        return tuple(pid for pid in _processes() if _number_of(pid, wanted) is not None)

    def trusts(self, pid: int) -> bool:
        """Whether it is the process that was trusted: who does not descend from us never will."""
        return pid in self._began and _stat_of(pid, _BEGAN) == self._began[pid]

    def trust(self, pid: int, inode: int) -> None:
        """Look at this process first from now on, and do not ask again whose child it is."""
        began = _stat_of(pid, _BEGAN)
        self._began[pid] = -1 if began is None else began
        if pid not in self._known:
            self._known[pid] = deque(maxlen=_REMEMBERED)
            if (number := _number_of(pid, f"socket:[{inode}]")) is not None:
                self._remember(pid, number)

    def _remember(self, pid: int, number: int) -> None:
        known = self._known[pid]
        if number in known:  # whoever listens is asked of each time, and stays
            known.remove(number)
        known.append(number)


_LOADED = 0.0
"""When this was loaded, which is before a candidate is started, in ticks as `_BEGAN` has them."""
if sys.platform == "linux":
    _LOADED = time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK") - 1


def is_below(pid: int, ancestor: int) -> bool | None:
    """Whether a process is `ancestor` or descends from it; None where nobody can tell. A daemon
    becomes its reaper's child. Another user's process is no descendant.
    """
    way = _way_up(pid, ancestor)
    return way if way is None else bool(way)


def is_candidate(pid: int, gate: int) -> bool:
    """Whether a process descends from this gate or from another one's supervisor, or may. What a
    shell started that has become this gate (`exec`) was here before, and is none of its.
    """
    way = _way_up(pid, gate)
    if way is None or (way and not _was_here(way)):
        return True
    ours = set(_ancestors(gate))  # a gate may be a candidate itself
    return any(map(_is_supervisor, (one for one in _ancestors(pid) if one not in ours)))


def candidate_lives() -> bool | None:
    """Whether a candidate of any gate runs as this user; None on a system without /proc.

    What has a supervisor above it is one, but for the supervisor's own children, which are guards;
    what it writes into its own command line does not count.
    """
    mine = os.geteuid()
    try:
        ours = [pid for pid in _processes() if _user_of(pid) == mine]
    except FileNotFoundError:
        return None
    return any(any(map(_is_supervisor, list(_ancestors(pid))[2:])) for pid in ours)


def _was_here(way: list[int]) -> bool:
    """Whether what is on this way up descends from a child that its last process had before it
    could start any candidate. Whoever loses his parents becomes the child of another process above
    him, and so never of such a one.
    """
    began = _stat_of(way[-2], _BEGAN) if len(way) > 1 else None
    return began is not None and began < _LOADED


def may_have_escaped(pid: int, gate: int) -> bool:
    """Whether a process is held for life as candidates are, and the gate is not, though nobody has
    started it. Before Linux 6.12 one of the gate's user can end all that keeps it, the gate too.
    """
    (bound, filters), (own_bound, own_filters) = _held(pid), _held(gate)
    return bool(bound) and (not own_bound or filters > own_filters)


def _held(pid: int) -> tuple[int, int]:
    """Return whether a process can gain no rights any more, and how many filters of system calls it
    has: neither can be shed, and children have them. One that is gone has all there is.
    """
    with suppress(OSError, ValueError, IndexError):
        told = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
        fields = dict(line.split(":", 1) for line in told.splitlines() if ":" in line)
        filters = fields.get("Seccomp_filters", fields.get("Seccomp", "0"))
        return int(fields["NoNewPrivs"]), int(filters)
    return 1, sys.maxsize


def may_be_unseen(gate: int) -> bool:
    """Whether a process that we cannot find may live where we do not see, in another namespace. It
    does not where one below the gate hides, or may.
    """
    namespace = 0
    with suppress(OSError):
        namespace = Path("/proc/self/ns/pid").stat().st_ino
    return namespace != _FIRST_NAMESPACE and not _hides_processes() and not _hiding(gate)[0]


def may_be_hidden(gate: int) -> bool:
    """Whether a process of this user that is no candidate does not let its descriptors be read, and
    no candidate does so: it may hold what nobody is found to hold. Pasta does, which forwards
    ports for rootless Podman.
    """
    below, elsewhere = _hiding(gate)
    return elsewhere and not below and not _hides_processes()


def _hides_processes() -> bool:
    """Whether /proc shows not all that there are (`hidepid`)."""
    with suppress(OSError):
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
        return any("hidepid=" in line for line in mounts.splitlines() if " /proc proc " in line)
    return True


def _hiding(gate: int) -> tuple[bool, bool]:
    """Whether candidates, and others of this user, do not let their descriptors be read."""
    below = elsewhere = False
    for pid in _processes():
        try:
            next(Path(f"/proc/{pid}/fd").iterdir(), None)
        except PermissionError:
            way = _way_up(pid, gate)
        except OSError:
            continue
        else:
            continue
        if way is None or len(way) > _OF_THE_GATE:
            below = True
        elif not way and _user_of(pid) == os.geteuid() and not _is_supervisor(pid):
            below = below or is_candidate(pid, gate)
            elsewhere = True
    return below, elsewhere


def _user_of(pid: int) -> int:
    """Return the user of a process, -1 if it is gone. One that hides has files in /proc of root."""
    with suppress(OSError, ValueError, IndexError):
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
        return int(lines.partition("\nUid:")[2].split()[1])
    return -1


def _processes() -> Iterator[int]:
    return (int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal())


def _number_of(pid: int, wanted: str) -> int | None:
    """Return the descriptor of a process that leads to this; None if none does."""
    with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
        for each in descriptors:
            if _leads_to(each.path) == wanted:
                return int(each.name)
    return None


def _leads_to(path: str) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115 - thousands of them, and a path each is slow
    except OSError:
        return ""


def _way_up(pid: int, ancestor: int) -> list[int] | None:
    """Return a process and those above it up to `ancestor`, empty if that is none of them; None
    if one has ended meanwhile, or hides.
    """
    way: list[int] = []
    while pid > 0 and pid not in way:
        way.append(pid)
        if pid == ancestor:
            return way
        parent = _stat_of(pid, _PARENT)
        if parent is None:
            return [] if _is_anothers(pid) else None
        pid = parent
    return []


def _ancestors(pid: int) -> Iterator[int]:
    """Give a process and those above it, as far as they are shown."""
    seen: set[int] = set()
    while pid > 0 and pid not in seen:
        yield pid
        seen.add(pid)
        pid = _stat_of(pid, _PARENT) or 0


def _is_supervisor(pid: int) -> bool:
    """Whether a process keeps the candidates of some gate. It shows so in its command line."""
    with suppress(OSError):
        return SUPERVISOR in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def _stat_of(pid: int, field: int) -> int | None:
    """Return a number of proc_pid_stat(5), counted from what follows the name."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123 - asked often
            return int(file.read().rpartition(b")")[2].split()[field])
    except (OSError, ValueError, IndexError):
        return None


def _is_anothers(pid: int) -> bool:
    """Whether a process is there, and another user's."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return False
