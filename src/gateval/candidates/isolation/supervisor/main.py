"""The supervisor: one process per run, which starts guards and outlives a gate that is killed.

It is started with a packet socket to the gate as its standard input. The first packet brings the
`SupervisorConfig`; each further one an `Order` with four descriptors: three pipes and the guard's
`control`; or one descriptor alone, a socket on which the gate is told how many processes live.
The end of the stream is the end of the gate, whatever ended it: then all candidates are ended and
the run's folder is removed.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import resource
import signal
import socket
import sys
import time

from gateval.candidates.isolation.supervisor import kernel
from gateval.candidates.isolation.supervisor.candidate_guard import (
    CandidateGuard,
    descendants,
    kill_descendants,
    kill_user,
    user_has_processes,
)
from gateval.candidates.isolation.supervisor.confine import (
    Caps,
    Order,
    SharedDescriptors,
    SupervisorConfig,
    unpack,
)
from gateval.candidates.isolation.supervisor.disk import remove_tree, shared_folders

WARDENS_SECONDS = 30.0
"""How long guards may take to end their candidates once the gate is gone."""

PARALLEL = 2
"""As a shared user: how many candidates' worth of processes the user may have more than now."""


class Supervisor:
    """Forks a guard per order and forgets none."""

    def __init__(
        self, gate: socket.socket, shared_descriptors: SharedDescriptors, common: list[str]
    ) -> None:
        self._gate = gate
        self._shared_descriptors = shared_descriptors
        self._common = common
        self._guards: dict[int, int | None] = {}
        self._room = _room(shared_descriptors)

    def serve(self) -> None:
        """Carry out orders until the gate is no more."""
        while True:
            descriptors = _receive(self._gate, 5)
            if not descriptors:
                return
            self._reap(os.WNOHANG)
            if len(descriptors) == 1:
                self._say_how_many_live(descriptors[0])
                continue
            order, *pipes, control = descriptors
            self._fork(order, pipes, control)
            for descriptor in descriptors:
                os.close(descriptor)

    def _say_how_many_live(self, answer: int) -> None:
        """Tell on this socket how many processes live of all that was ever started, and guards.
        Descent says so, which no process escapes. What has no guard any more is ended.
        """
        if not self._guards:
            kill_descendants(0)
            self._reap(os.WNOHANG)
        with socket.socket(fileno=answer) as asked, contextlib.suppress(OSError):
            lives = sum(1 for _ in descendants())
            asked.send(json.dumps({"lives": lives}).encode())

    def _fork(self, order: int, pipes: list[int], control: int) -> None:
        user = self._fresh_user()
        pid = os.fork()
        if pid:
            self._guards[pid] = user
            return
        status = 1
        try:
            self._gate.close()
            with socket.socket(fileno=control) as channel:
                asked = Order(**unpack(order))
                guard = CandidateGuard(self._shared_descriptors, asked, channel, user)
                guard.serve(pipes, self._room, self._common)
            status = 0
        finally:
            os._exit(status)

    def _fresh_user(self) -> int | None:
        """Return an even id that nobody has; the odd one after it serves to kill it."""
        users = self._shared_descriptors.supervisor_config.users
        if users is None:
            return None
        first, last = users
        while True:
            user = random.randrange(first + first % 2, last, 2)  # noqa: S311 - no secret
            taken = user in self._guards.values()
            if not (taken or user_has_processes(user) or user_has_processes(user + 1)):
                return user

    def _reap(self, how: int) -> bool:
        """Reap guards that ended. The supervisor does the work of one that was killed."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, how)
                if pid == 0:
                    return True
                user = self._guards.pop(pid, None)
                if status and user is not None:
                    kill_user(user)
        return False

    def finish(self) -> None:
        """Wait for the guards, then end whatever is left below us."""
        deadline = time.monotonic() + WARDENS_SECONDS
        while self._guards and time.monotonic() < deadline and self._reap(os.WNOHANG):
            time.sleep(0.002)  # waitpid has no time limit, and a signal would be a second way
        for user in self._guards.values():
            if user is not None:
                kill_user(user)
        while kill_descendants(0) and time.monotonic() < deadline:
            self._reap(os.WNOHANG)
            time.sleep(0.01)  # what was killed ends when the kernel gets to it


def _receive(gate: socket.socket, most: int) -> list[int]:
    """Return the descriptors of the next packet, which no program inherits; none at the end."""
    descriptors = socket.recv_fds(gate, 1, most)[1]
    for descriptor in descriptors:  # Python 3.11 does not pass MSG_CMSG_CLOEXEC on
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - it takes no name
    return descriptors


def _room(shared_descriptors: SharedDescriptors) -> int:
    """How many processes the user of the candidates may have.

    Where that is the gate's own user, the kernel counts the processes of all its programs, so the
    limit can only be a far bound; the guards count properly.
    """
    caps = shared_descriptors.supervisor_config.caps
    if shared_descriptors.supervisor_config.users is not None:
        return caps.processes
    soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    bound = PARALLEL * caps.processes
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{name}").st_uid == os.getuid():
                bound += os.stat(f"/proc/{name}/task").st_nlink - 2
    return bound if soft == resource.RLIM_INFINITY else min(bound, soft)


def main() -> None:
    """Serve the gate at the other end of standard input, then tidy up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    kernel.become_undumpable()
    kernel.become_subreaper()
    gate = socket.socket(fileno=os.dup(0))
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    descriptors = _receive(gate, 1)
    if not descriptors:
        sys.exit(0)
    told = unpack(descriptors[0])
    users = tuple(told["users"]) if told["users"] else None
    supervisor_config = SupervisorConfig(**told | {"caps": Caps(*told["caps"]), "users": users})
    common = shared_folders(supervisor_config.shared) if supervisor_config.users else []
    supervisor = Supervisor(gate, SharedDescriptors(supervisor_config), common)
    gc.freeze()  # what is here now stays; children need not copy it
    try:
        supervisor.serve()
    finally:
        supervisor.finish()
        remove_tree(supervisor_config.folder)
