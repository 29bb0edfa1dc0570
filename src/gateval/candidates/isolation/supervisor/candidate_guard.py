"""The guard of one candidate: its parent, its watchman and its end; and who lives below it.

One process per candidate, which no candidate can signal where it has a user of its own. It does
what the gate says through `control`, and ends the candidate when the gate goes silent for good.

To the gate it says, one JSON object per packet: `{"pid", "user", "guard"}` or `{"error", "step"}`
first, `{"exited"}` when the first process ends, `{"over"}` when a cap is broken, `{"gone"}` last.
From the gate it hears `T` (ask it to end) and `K` (end everything); the end of the stream is `K`.

Descent cannot be escaped: this process is their subreaper, so a daemon becomes its child.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import time
from collections.abc import Iterable, Iterator

from gateval.candidates.isolation.supervisor import kernel
from gateval.candidates.isolation.supervisor.confine import (
    Order,
    SharedDescriptors,
    become,
    code_told,
    fork_apart,
    lead_apart,
    lend,
    open_telling,
    take_back,
)
from gateval.candidates.isolation.supervisor.disk import DiskWatch, remove_files, remove_ipc

PAGE = os.sysconf("SC_PAGE_SIZE")

STOP_PASSES = 20
"""How often processes that came up meanwhile are looked for before the killing begins."""


def descendants(since: int = 0) -> Iterator[int]:
    """Give the ids of all processes below this one, parents first. Children of this process that
    started before `since` are left out, with all below them.
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


TICK_MS = 100
"""How often memory, processes and free disk are looked at."""

_NAMESPACE = "namespace"

END_SECONDS = 20.0
"""How long killing goes on before what is left is given up (it hangs in the kernel)."""


class CandidateGuard:
    """Starts one candidate and stays until nothing of it is left."""

    def __init__(
        self,
        shared_descriptors: SharedDescriptors,
        order: Order,
        control: socket.socket,
        user: int | None,
    ) -> None:
        self._shared_descriptors = shared_descriptors
        self._order = order
        self._control = control
        self._user = user
        self._leader = 0
        self._told: int | None = None
        self._code: int | None = None
        self._born = time.time()
        self._broken: str | None = None

    def serve(self, pipes: list[int], room: int, common: list[str]) -> None:
        """Start the candidate on these pipes, mind it, end it. `common` are shared folders."""
        kernel.become_subreaper()
        writes, cap = self._order.writes, self._shared_descriptors.supervisor_config.caps.disk
        since_now = len(writes) > 1
        disk = DiskWatch(writes, cap, since_now=since_now, shared=common, user=self._user)
        if not self._start(pipes, room):
            return
        try:
            self._mind(disk)
        finally:
            survivors = self._end()
            if self._broken is None and disk.over_at_the_end():
                self._say(over="disk")
            if self._user is not None:
                remove_files(common, self._user, self._born)
                remove_ipc(self._user)
                for folder in self._order.lent:
                    take_back(folder, self._user)
            self._say(gone=self._code, survivors=survivors)

    def _start(self, pipes: list[int], room: int) -> bool:
        if self._user is not None:
            for folder in self._order.owned:
                os.chown(folder, self._user, self._user, follow_symlinks=False)
            for folder in self._order.lent:
                lend(folder, self._user)
        refusal = self._fork(pipes, room, apart=self._shared_descriptors.puts_apart(self._order))
        if refusal and json.loads(refusal)["step"] == _NAMESPACE:
            refusal = self._fork(pipes, room, apart=False)
        for pipe in pipes:
            os.close(pipe)
        if refusal:
            self._control.send(refusal)
            return False
        self._say(pid=self._leader, user=self._user, guard=os.getpid())
        return True

    def _fork(self, pipes: list[int], room: int, *, apart: bool) -> bytes:
        """Start it, `apart` in a PID namespace; return why that failed, empty if it did not."""
        inward, outward = os.pipe()
        self._told, tells = open_telling() if apart else (None, None)
        self._leader = fork_apart() if apart else os.fork()
        if self._leader == 0:
            self._turn_into(room, pipes, outward, tells)
        os.close(outward)
        if tells is not None:
            os.close(tells)
        with os.fdopen(inward, "rb") as stream:
            refusal = stream.read()
        if refusal:
            os.waitpid(self._leader, 0)
        return refusal

    def _turn_into(self, room: int, pipes: list[int], outward: int, tells: int | None) -> None:
        """Become the candidate, or tell why not and end."""
        said = {"error": 0, "step": "", "file": ""}
        step = _NAMESPACE
        try:
            if tells is not None and self._user is not None:
                lead_apart(self._user, tells)
            step = "start"
            become(self._shared_descriptors, self._order, self._user, room, pipes)
        except OSError as error:
            said = {"error": error.errno or 0, "step": step, "file": str(error.filename or "")}
        except BaseException as error:  # noqa: BLE001 - this process must not go on as a supervisor
            said["step"] = type(error).__name__
        finally:
            os.write(outward, json.dumps(said).encode())
            os._exit(127)

    def _mind(self, disk: DiskWatch) -> None:
        """Return when the gate wants the end or is no more."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        leader = self._told
        if leader is None:  # an old kernel, or a sandbox, may forbid it
            with contextlib.suppress(AttributeError, OSError):
                leader = os.pidfd_open(self._leader)
        if leader is not None:
            poll.register(leader, select.POLLIN)
        while True:
            ready = [descriptor for descriptor, _ in poll.poll(TICK_MS)]
            if self._control.fileno() in ready:
                word = self._control.recv(1)
                if word != b"T":
                    return
                if self._code is None:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.killpg(self._leader, signal.SIGTERM)
            if self._reap():
                if leader is not None:
                    poll.unregister(leader)
                    leader = None
                self._say(exited=True)
            if not ready and (broken := self._broken_cap(disk)):
                self._broken = self._broken or broken
                self._say(over=broken)
                self._kill()

    def _broken_cap(self, disk: DiskWatch) -> str | None:
        caps = self._shared_descriptors.supervisor_config.caps
        tasks, memory = measure(caps.processes, 0 if self._told is None else self._leader)
        if tasks > caps.processes:
            return "processes"
        if memory > caps.memory:
            return "memory"
        return "disk" if disk.over() else None

    def _reap(self) -> bool:
        """Reap all children that have ended; True when the first process is found to have. In a
        namespace its process 1 tells that, which stays until nothing is left there.
        """
        ran = self._code is None
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                if pid == self._leader and self._told is None and self._code is None:
                    self._code = os.waitstatus_to_exitcode(status)
        if self._told is not None and self._code is None:
            self._code = code_told(self._told)
        return ran and self._code is not None

    def _end(self) -> bool:
        """Kill until nothing is left; True if something is all the same."""
        deadline = time.monotonic() + END_SECONDS
        pause = 0.0005
        while True:
            left = self._kill()
            self._reap()
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(pause)  # what was killed ends when the kernel gets to it
            pause = min(2 * pause, 0.02)

    def _kill(self) -> bool:
        """Kill all that is there; False if nothing was."""
        user_left = self._user is not None and user_has_processes(self._user)
        if self._user is not None and user_left:
            kill_user(self._user)
        return kill_descendants(0 if self._code is not None else self._leader) or user_left

    def _say(self, **words: object) -> None:
        with contextlib.suppress(OSError):  # nobody listens any more
            self._control.send(json.dumps(words).encode())
