"""The way of a fresh process from the supervisor's child to the program that was asked for.

Runs between fork and exec in a process without threads. The order matters: limits and folders while
there is still a right to set them, then another user, the fence, the filter, and the program.

When it is taken back it holds what hostile code left there: links to other people's files above
all. So only what belongs to the candidate's user is touched, links themselves and never what they
point to, and only once no process of that user is left. find(1) does it, which holds folders open
and follows nothing.

An extra, and no wall. Process 1 of it is ours, since the first process of a namespace ignores
signals that it does not handle; the candidate is process 2. The supervisor and the guards stay
outside and see all of it under the ids that they know.

Tuples, and no dataclasses: to import what makes those is a quarter of the supervisor's start.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import resource
import signal
from collections.abc import Sequence
from typing import Any, NamedTuple

from gateval.candidates.isolation.supervisor import kernel
from gateval.candidates.isolation.supervisor.disk import run
from gateval.candidates.isolation.supervisor.kernel import called, libc


def lend(folder: str, user: int) -> None:
    """Make this user the owner of all that is ours in the folder. Files with several names stay
    ours: an earlier set-up may have linked one from elsewhere.
    """
    own = str(os.getuid())
    single = ("(", "-links", "1", "-o", "-type", "d", ")")
    _find(folder, "-user", own, *single, "-exec", "chown", "-h", f"{user}:{user}", "{}", "+")


def take_back(folder: str, user: int) -> None:
    """Become the owner of all that is this user's, readable by all and writable by nobody else."""
    mode = "u+rwX,go+rX,go-w,ug-s"
    kinds = ("(", "-type", "f", "-o", "-type", "d", ")")
    _find(folder, "-user", str(user), *kinds, "-exec", "chmod", mode, "{}", "+")
    own = f"{os.getuid()}:{os.getgid()}"
    _find(folder, "-user", str(user), "-exec", "chown", "-h", own, "{}", "+")


def _find(folder: str, *expression: str) -> None:
    run("find", "-P", folder, "-xdev", *expression)


_NEW_MOUNTS, _NEW_PIDS = 0x00020000, 0x20000000  # CLONE_NEWNS, CLONE_NEWPID
_PROC_FLAGS = 0x2 | 0x4 | 0x8  # MS_NOSUID, MS_NODEV, MS_NOEXEC
_SLAVE_BELOW = 0x4000 | 0x80000  # MS_REC, MS_SLAVE

_OWN_PIDS = "/proc/self/ns/pid"
_MOUNTED_BY_SYSTEMS = frozenset({"/proc", "/proc/sys/fs/binfmt_misc"})
_CODE_BYTES = 16


def fork_apart() -> int:
    """Fork, as `os.fork` does, a child that is the first process of a namespace if it may. What is
    forked later is in ours again. Raises `OSError`.
    """
    own = os.open(_OWN_PIDS, os.O_RDONLY | os.O_CLOEXEC)
    apart = libc.unshare(_NEW_PIDS) == 0
    child = -1
    try:
        child = os.fork()
    finally:
        if child and apart:
            called(libc.setns(own, _NEW_PIDS))
        os.close(own)
    return child


def lead_apart(user: int, tells: int) -> None:
    """As process 1, mount a `/proc`, fork and return in process 2; stay process 1 in the other.

    That tells the exit code of process 2 through the pipe `tells`, and ends with its last child.
    Raises `OSError`.
    """
    _mount_own_proc()
    os.setsid()
    first: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: _pass_on(first, number))
    child = os.fork()
    if child == 0:
        return
    try:
        first.append(child)
        _become_unreachable(user)
        os.closerange(0, tells)  # now only the candidate holds its streams, and us no start up
        os.closerange(tells + 1, os.sysconf("SC_OPEN_MAX"))
        _reap_all(first, tells)
    finally:
        os._exit(0)


def open_telling() -> tuple[int, int]:
    """Open a pipe by which process 1 tells: the end for `code_told`, and the one for it."""
    told, tells = os.pipe()
    os.set_blocking(told, False)
    return told, tells


def code_told(told: int) -> int | None:
    """Return what process 1 told, None if nothing yet. One that ended untold was killed."""
    try:
        code = os.read(told, _CODE_BYTES)
    except BlockingIOError:
        return None
    return int(code) if code else -signal.SIGKILL


def refusal() -> str:
    """Return why no candidate can have a namespace here, in a clause; empty if each can. A child
    tries it, which changes what this process forks for a moment.
    """
    if os.geteuid() != 0:
        return "it takes root"
    try:
        if hidden := _mounted_below_proc():
            return f"parts of /proc are hidden or mounted over here ({hidden})"
        child = fork_apart()
        if child == 0:
            _try_out()
        failed = os.waitpid(child, 0)[1]
    except OSError as error:
        return f"the system refuses it ({error.strerror})"
    return "the system refuses it, or a /proc of its own" if failed else ""


def _try_out() -> None:
    status = 1
    try:
        _mount_own_proc()
        status = int([one for one in os.listdir("/proc") if one.isdigit()] != ["1"])
    finally:
        os._exit(status)


def _mounted_below_proc() -> str:
    """Return a place in /proc that a container's engine covers, which a new one would show."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        places = [line.split()[4] for line in file]
    covered = (one for one in places if f"{one}/".startswith("/proc/"))
    return next((one for one in covered if one not in _MOUNTED_BY_SYSTEMS), "")


def _mount_own_proc() -> None:
    """Mount a `/proc` of this namespace, which nobody outside sees."""
    if os.getpid() != 1:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
    called(libc.unshare(_NEW_MOUNTS))
    _mount(b"none", b"/", None, _SLAVE_BELOW)
    _mount(b"proc", b"/proc", b"proc", _PROC_FLAGS)


def _mount(source: bytes, target: bytes, kind: bytes | None, flags: int) -> None:
    called(libc.mount(source, target, kind, ctypes.c_ulong(flags), None))


def _become_unreachable(user: int) -> None:
    """End with the guard, and have no right but to signal this user, who cannot signal us.

    As in `kill_user`, our real and saved user is one that nobody else has, which the limit of the
    candidate's processes does not count either.
    """
    os.umask(0o077)
    kernel.gain_no_privileges()
    kernel.bound_capabilities()
    os.setgroups([])
    os.setresgid(user + 1, user + 1, user + 1)
    os.setresuid(user + 1, user, user + 1)
    kernel.give_up_capabilities()
    kernel.become_undumpable()
    kernel.end_with_parent(signal.SIGKILL)


def _pass_on(first: list[int], number: int) -> None:
    for leader in first:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, number)


def _reap_all(first: list[int], tells: int) -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, 0)
            if pid in first:
                first.clear()
                os.write(tells, str(os.waitstatus_to_exitcode(status)).encode())


class Caps(NamedTuple):
    """The most one candidate may use. `memory` and `disk` in bytes."""

    memory: int
    disk: int
    files: int
    processes: int


class SupervisorConfig(NamedTuple):
    """What holds for all candidates of a run.

    `users` is the range of user ids for them, None where they run as the gate's own user.
    `landlock` is the kernel's version of it, 0 for none; `filtered` says that system calls are
    filtered. `visible` may be read, `usable` (devices) opened for writing too, `shared` is for
    everybody's passing files. `ports` are those that TCP may connect to, and `binds` those that it
    may listen on beside one that the kernel chooses; None for all. `folder` is removed in the end.
    `apart` says that programs have PID namespaces of their own, where they are not cut off.
    """

    folder: str
    users: tuple[int, int] | None
    landlock: int
    caps: Caps
    filtered: bool = False
    apart: bool = False
    ports: Sequence[int] | None = None
    binds: Sequence[int] | None = None
    visible: Sequence[str] = ()
    usable: Sequence[str] = ()
    shared: Sequence[str] = ()


class Order(NamedTuple):
    """One program to start.

    `owned` folders become its user's; `lent` ones, with all that is in them, until it is gone.
    `reads` may be read; `owned[0]` and `lent` also written. `ports` and `binds` are open to it
    beside those of the house. `offline` says that it may connect to nothing where the house limits
    that at all, `cut_off` that it may not anywhere, nor leave anything where others look.
    """

    argv: list[str]
    cwd: str
    env: dict[str, str]
    reads: list[str]
    owned: list[str]
    lent: list[str]
    ports: Sequence[int] = ()
    binds: Sequence[int] = ()
    offline: bool = False
    cut_off: bool = False

    @property
    def writes(self) -> list[str]:
        """The folders that may be written."""
        return list(dict.fromkeys((*self.owned[:1], *self.lent)))


def pack(value: SupervisorConfig | Order) -> int:
    """Return a memory file that holds the value; the caller closes it."""
    file = os.memfd_create("order", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(file), "wb") as stream:
        stream.write(json.dumps(value._asdict()).encode())
    return file


def unpack(file: int) -> dict[str, Any]:
    """Return what `pack` put into the file, and close it."""
    with os.fdopen(file, "rb") as stream:
        stream.seek(0)
        value: dict[str, Any] = json.loads(stream.read())
    return value


NICE = 10
"""Candidates give way to the gate and to their guards, which have to be able to end them."""

PROCESSES = "/proc"
OWN_PROCESS = "/proc/self"
"""Of /proc, what a candidate's first process may write: what it says of that process itself."""


class SharedDescriptors:
    """The descriptors that all candidates of a run share, opened once."""

    def __init__(self, supervisor_config: SupervisorConfig) -> None:
        self.supervisor_config = supervisor_config
        self._allowed = [
            (kernel.READ, _opened(supervisor_config.visible)),
            (kernel.USE, _opened(supervisor_config.usable)),
        ]
        self._shared = _opened(supervisor_config.shared)
        self._binds = frozenset(supervisor_config.binds or ())
        listens, asks = supervisor_config.binds is not None, supervisor_config.ports is not None
        self._bind_ruleset = kernel.bind_ruleset(self._binds) if listens else None
        self._filter = self._none = None
        if supervisor_config.filtered:
            self._filter = kernel.compiled(sockets=asks, plain_tcp=listens)
            self._none = kernel.compiled(sockets=True, cut_off=True)

    def puts_apart(self, order: Order) -> bool:
        """Whether this program gets a PID namespace of its own, where that can be had."""
        config = self.supervisor_config
        return config.apart and config.users is not None and not order.cut_off

    def ruleset(self, order: Order) -> None:
        """Put this process behind its fence, if the kernel has any."""
        config = self.supervisor_config
        if not config.landlock:
            return
        ports = None if config.ports is None else [*config.ports, *order.ports]
        if order.cut_off or (order.offline and ports is not None):
            ports = []
        ruleset = kernel.LandlockRuleset(config.landlock, ports)
        for access, places in self._allowed:
            ruleset.allow(access, places)
        if not order.cut_off:
            ruleset.allow(kernel.WRITE, self._shared)
        if self.puts_apart(order) and PROCESSES in config.visible:
            ruleset.allow(kernel.READ, _opened([PROCESSES]))  # a new one, unlike the gate's
        ruleset.allow(kernel.USE, _opened([OWN_PROCESS]))
        ruleset.allow(kernel.READ, _opened(order.reads))
        ruleset.allow(kernel.WRITE, _opened(order.writes))
        ruleset.close_in()
        if self._bind_ruleset is not None:
            more = self._binds.union(order.binds)
            is_known = len(more) == len(self._binds)
            kernel.close_in(self._bind_ruleset if is_known else kernel.bind_ruleset(more))

    def filter_calls(self, order: Order) -> None:
        """Make no system call of the deny-list from now on, if they can be filtered here."""
        program = self._none if order.cut_off else self._filter
        if program is not None:
            kernel.load_filter(program)


def _opened(paths: Sequence[str]) -> kernel.Places:
    return [place for path in paths if (place := kernel.open_place(path)) is not None]


def become(
    shared_descriptors: SharedDescriptors,
    order: Order,
    user: int | None,
    room: int,
    pipes: list[int],
) -> None:
    """Turn this process into the program. Returns never; raises `OSError` if it cannot be done.

    `user` is the id of its user and group, None for the gate's own; `room` is how many processes
    that user may have in all. `pipes` are its standard streams.
    """
    os.setsid()
    for number, pipe in enumerate(pipes):
        os.dup2(pipe, number)
    os.umask(0o077)
    os.nice(NICE)
    _limit(shared_descriptors.supervisor_config.caps, room)
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
    shared_descriptors.ruleset(order)
    os.chdir(order.cwd)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    shared_descriptors.filter_calls(order)
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
