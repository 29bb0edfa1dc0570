"""Calls of the Linux kernel that Python does not offer: prctl(2), capset(2), keyctl(2), seccomp(2).

The numbers are the kernel's, from `include/uapi/linux/{prctl,capability,keyctl,seccomp}.h`.
"""

from __future__ import annotations

import ctypes
import errno
import os

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_SECCOMP_MODE_FILTER = 2
_INSTRUCTION = 8
_KEYCTL_JOIN_SESSION_KEYRING = 1
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63

libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def called(result: int) -> int:
    """Return what a call of libc gave. Raises `OSError` where it failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _prctl(option: int, value: int = 0) -> None:
    called(libc.prctl(option, value, 0, 0, 0))


def become_undumpable() -> None:
    """Let no process without CAP_SYS_PTRACE look into this one. Ends at the next exec."""
    _prctl(_PR_SET_DUMPABLE, 0)


def become_dumpable() -> None:
    """Own our files under /proc again, which an undumpable process does not."""
    _prctl(_PR_SET_DUMPABLE, 1)


def become_subreaper() -> None:
    """Become the parent of all descendants whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent(number: int) -> None:
    """Have this signal sent to this process when its parent ends."""
    _prctl(_PR_SET_PDEATHSIG, number)


def gain_no_privileges() -> None:
    """Have no exec, ours or a descendant's, grant anything: no setuid, no file capabilities."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def leave_keyrings() -> None:
    """Join a new and empty session keyring, as the one inherited may hold keys of the gate's user.

    keyctl(2) has a number of its own on each architecture; on others, and where it is forbidden
    as in Docker, keyrings stay as they are.
    """
    number = {"x86_64": 250, "aarch64": 219}.get(os.uname().machine)
    if number is not None:
        libc.syscall(number, _KEYCTL_JOIN_SESSION_KEYRING, None)


def bound_capabilities() -> None:
    """Take from all that is executed from now on every capability, also from user 0."""
    for number in range(_LAST_CAPABILITY + 1):
        try:
            _prctl(_PR_CAPBSET_DROP, number)
        except OSError:  # beyond the last one that this kernel knows, or not ours to drop
            break
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)


def give_up_capabilities() -> None:
    """Keep no capability: not in use, not to be taken up, not to be handed on."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    called(libc.capset(header, (ctypes.c_uint32 * 6)()))


def knows_filters() -> bool:
    """Whether this kernel filters system calls (seccomp(2), mode 2)."""
    libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, None, 0, 0)
    return ctypes.get_errno() == errno.EFAULT  # it looked for the program that we did not give


def load_filter(program: bytes) -> None:
    """Have this process and its descendants make no call that the BPF `program` refuses.

    It needs `gain_no_privileges` before. Raises `OSError`.
    """
    filled = _Program(len(program) // _INSTRUCTION, program)
    called(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(filled), 0, 0))
