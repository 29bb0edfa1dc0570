"""The warden of one candidate: its parent, its watchman and its end.

One process per candidate, which no candidate can signal where it has a user of its own. It does
what the gate says through `control`, and ends the candidate when the gate goes silent for good.

To the gate it says, one JSON object per packet: `{"pid", "user", "warden"}` or `{"error", "step"}`
first, `{"exited"}` when the first process ends, `{"over"}` when a cap is broken, `{"gone"}` last.
From the gate it hears `T` (ask it to end) and `K` (end everything); the end of the stream is `K`.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import time

from gateval.candidates.isolation.supervisor import kernel
from gateval.candidates.isolation.supervisor.census import (
    kill_descendants,
    kill_user,
    measure,
    user_has_processes,
)
from gateval.candidates.isolation.supervisor.confine import Grounds, become
from gateval.candidates.isolation.supervisor.disk import DiskWatch
from gateval.candidates.isolation.supervisor.handover import lend, take_back
from gateval.candidates.isolation.supervisor.leftovers import remove_files, remove_ipc
from gateval.candidates.isolation.supervisor.namespaces import (
    code_told,
    fork_apart,
    lead_apart,
    open_telling,
)
from gateval.candidates.isolation.supervisor.orders import Order

TICK_MS = 100
"""How often memory, processes and free disk are looked at."""

_NAMESPACE = "namespace"

END_SECONDS = 20.0
"""How long killing goes on before what is left is given up (it hangs in the kernel)."""


class Warden:
    """Starts one candidate and stays until nothing of it is left."""

    def __init__(
        self, grounds: Grounds, order: Order, control: socket.socket, user: int | None
    ) -> None:
        self._grounds = grounds
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
        writes, cap = self._order.writes, self._grounds.house.caps.disk
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
        refusal = self._fork(pipes, room, apart=self._grounds.puts_apart(self._order))
        if refusal and json.loads(refusal)["step"] == _NAMESPACE:
            refusal = self._fork(pipes, room, apart=False)
        for pipe in pipes:
            os.close(pipe)
        if refusal:
            self._control.send(refusal)
            return False
        self._say(pid=self._leader, user=self._user, warden=os.getpid())
        return True

    def _fork(self, pipes: list[int], room: int, *, apart: bool) -> bytes:
        """Start it, `apart` in a PID namespace; return why that failed, empty if it did not."""
        inward, outward = os.pipe()
        self._told, tells = open_telling() if apart else (None, None)
        self._leader = fork_apart() if apart else os.fork()
        if self._leader == 0:
            _turn_into(self._grounds, self._order, self._user, room, pipes, outward, tells)
        os.close(outward)
        if tells is not None:
            os.close(tells)
        with os.fdopen(inward, "rb") as stream:
            refusal = stream.read()
        if refusal:
            os.waitpid(self._leader, 0)
        return refusal

    def _mind(self, disk: DiskWatch) -> None:
        """Return when the gate wants the end or is no more."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        leader = _open_pid(self._leader) if self._told is None else self._told
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
        caps = self._grounds.house.caps
        tasks, memory = measure(caps.processes, 0 if self._told is None else self._leader)
        if tasks > caps.processes:
            return "processes"
        if memory > caps.memory:
            return "memory"
        return "disk" if disk.over() else None

    def _reap(self) -> bool:
        """Reap all children that have ended; True when the first process is found to have.

        In a namespace its process 1 tells that, which stays until nothing is left there.
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


def _turn_into(
    grounds: Grounds,
    order: Order,
    user: int | None,
    room: int,
    pipes: list[int],
    outward: int,
    tells: int | None,
) -> None:
    """Become the candidate, or tell why not and end."""
    said = {"error": 0, "step": "", "file": ""}
    step = _NAMESPACE
    try:
        if tells is not None and user is not None:
            lead_apart(user, tells)
        step = "start"
        become(grounds, order, user, room, pipes)
    except OSError as error:
        said = {"error": error.errno or 0, "step": step, "file": str(error.filename or "")}
    except BaseException as error:  # noqa: BLE001 - this process must not go on as a supervisor
        said["step"] = type(error).__name__
    finally:
        os.write(outward, json.dumps(said).encode())
        os._exit(127)


def _open_pid(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # an old kernel, or a sandbox that forbids it
        return None
