"""The way of a fresh process from the supervisor's child to the program that was asked for.

Runs between fork and exec in a process without threads. The order matters: limits and folders while
there is still a right to set them, then another user, then the fence, then the program.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from collections.abc import Sequence

from gateval.candidates.isolation.supervisor import kernel
from gateval.candidates.isolation.supervisor.orders import Caps, House, Order

NICE = 10
"""Candidates give way to the gate and to their wardens, which have to be able to end them."""

Places = Sequence[tuple[int, bool]]


class Grounds:
    """What is the same for all candidates of a run, opened once."""

    def __init__(self, house: House) -> None:
        self.house = house
        self._allowed = [
            (kernel.READ, _opened(house.visible)),
            (kernel.USE, _opened(house.usable)),
            (kernel.WRITE, _opened(house.shared)),
        ]

    def fence(self, order: Order) -> None:
        """Put this process behind its fence, if the kernel has any."""
        if not self.house.landlock:
            return
        fence = kernel.Fence(self.house.landlock)
        for access, places in self._allowed:
            fence.allow(access, places)
        fence.allow(kernel.READ, _opened(order.reads))
        fence.allow(kernel.WRITE, _opened(order.writes))
        fence.close_in()


def _opened(paths: list[str]) -> Places:
    return [place for path in paths if (place := kernel.open_place(path)) is not None]


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
