"""A PID namespace around one candidate: it sees no process but its own, in a `/proc` of its own.

An extra, and no wall. Process 1 of it is ours, since the first process of a namespace ignores
signals that it does not handle; the candidate is process 2. The supervisor and the wardens stay
outside and see all of it under the ids that they know.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal

from gateval.candidates.isolation.supervisor import kernel
from gateval.candidates.isolation.supervisor.kernel import called, libc

_NEW_MOUNTS, _NEW_PIDS = 0x00020000, 0x20000000  # CLONE_NEWNS, CLONE_NEWPID
_PROC_FLAGS = 0x2 | 0x4 | 0x8  # MS_NOSUID, MS_NODEV, MS_NOEXEC
_SLAVE_BELOW = 0x4000 | 0x80000  # MS_REC, MS_SLAVE

_OWN_PIDS = "/proc/self/ns/pid"
_MOUNTED_BY_SYSTEMS = frozenset({"/proc", "/proc/sys/fs/binfmt_misc"})
_CODE_BYTES = 16


def fork_apart() -> int:
    """Fork, as `os.fork` does, a child that is the first process of a namespace if it may.

    What is forked later is in ours again. Raises `OSError`.
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
    """Return why no candidate can have a namespace here, in a clause; empty if each can.

    A child tries it, which changes what this process forks for a moment.
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
    """End with the warden, and have no right but to signal this user, who cannot signal us.

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
