"""The way of a fresh process from the supervisor's child to the program that was asked for.

Runs between fork and exec in a process without threads. The order matters: limits and folders while
there is still a right to set them, then another user, the fence, the filter, and the program.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from collections.abc import Sequence

from gateval.candidates.isolation.supervisor import kernel, landlock, syscalls
from gateval.candidates.isolation.supervisor.orders import Caps, House, Order

NICE = 10
"""Candidates give way to the gate and to their wardens, which have to be able to end them."""

PROCESSES = "/proc"
OWN_PROCESS = "/proc/self"
"""Of /proc, what a candidate's first process may write: what it says of that process itself."""


class Grounds:
    """The descriptors that all candidates of a run share, opened once."""

    def __init__(self, house: House) -> None:
        self.house = house
        self._allowed = [
            (landlock.READ, _opened(house.visible)),
            (landlock.USE, _opened(house.usable)),
        ]
        self._shared = _opened(house.shared)
        self._filter = self._none = None
        if house.filtered:
            self._filter = syscalls.compiled(
                sockets=house.ports is not None, plain_tcp=house.binds is not None
            )
            self._none = syscalls.compiled(sockets=True, cut_off=True)

    def puts_apart(self, order: Order) -> bool:
        """Whether this program gets a PID namespace of its own, where that can be had."""
        return self.house.apart and self.house.users is not None and not order.cut_off

    def fence(self, order: Order) -> None:
        """Put this process behind its fence, if the kernel has any."""
        if not self.house.landlock:
            return
        ports = None if self.house.ports is None else [*self.house.ports, *order.ports]
        if order.cut_off or (order.offline and ports is not None):
            ports = []
        house = self.house.binds
        binds = None if house is None else [*house, *order.binds]
        fence = landlock.Fence(self.house.landlock, ports, binds)
        for access, places in self._allowed:
            fence.allow(access, places)
        if not order.cut_off:
            fence.allow(landlock.WRITE, self._shared)
        if self.puts_apart(order) and PROCESSES in self.house.visible:
            fence.allow(landlock.READ, _opened([PROCESSES]))  # a new one, unlike the gate's
        fence.allow(landlock.USE, _opened([OWN_PROCESS]))
        fence.allow(landlock.READ, _opened(order.reads))
        fence.allow(landlock.WRITE, _opened(order.writes))
        fence.close_in()

    def filter_calls(self, order: Order) -> None:
        """Make no system call of the deny-list from now on, if they can be filtered here."""
        program = self._none if order.cut_off else self._filter
        if program is not None:
            kernel.load_filter(program)


def _opened(paths: Sequence[str]) -> landlock.Places:
    return [place for path in paths if (place := landlock.open_place(path)) is not None]


def become(grounds: Grounds, order: Order, user: int | None, room: int, pipes: list[int]) -> None:
    """Turn this process into the program. Returns never; raises `OSError` if it cannot be done.

    `user` is the id of its user and group, None for the gate's own; `room` is how many processes
    that user may have in all. `pipes` are its standard streams.
    """
    os.setsid()
    for number, pipe in enumerate(pipes):
        os.dup2(pipe, number)
    os.umask(0o077)
    os.nice(NICE)
    _limit(grounds.house.caps, room)
    kernel.gain_no_privileges()
    kernel.bound_capabilities()
    if user is not None:
        for number in range(len(pipes)):
            os.fchown(number, user, user)  # or /dev/stdout could not be opened
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    kernel.give_up_capabilities()
    kernel.leave_keyrings()
    kernel.end_with_parent(signal.SIGKILL)
    grounds.fence(order)
    os.chdir(order.cwd)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    grounds.filter_calls(order)
    os.execvpe(order.argv[0], order.argv, order.env)


def _limit(caps: Caps, room: int) -> None:
    kernel.become_dumpable()
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # where memory runs short, the kernel ends candidates first
    kernel.become_undumpable()
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: caps.disk,
        resource.RLIMIT_NOFILE: caps.files,
        resource.RLIMIT_NPROC: room,
    }
    for kind, most in wanted.items():
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)  # noqa: PLW2901 - never more than we may have ourselves
        resource.setrlimit(kind, (most, most))
