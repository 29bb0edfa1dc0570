"""Calls of the Linux kernel that Python does not offer: prctl(2), capset(2), landlock(7).

The numbers are the kernel's, from `include/uapi/linux/{prctl,capability,landlock}.h` and the
syscall table shared by all architectures since Linux 5.13.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_KEYCTL_JOIN_SESSION_KEYRING = 1
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63

_CREATE_RULESET = 444
_ADD_RULE = 445
_RESTRICT_SELF = 446
_VERSION = 1
_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
_REMOVE = 1 << 4 | 1 << 5
_MAKE_DEVICE = 1 << 6 | 1 << 11
_MAKE = 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 12
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 3

READ = EXECUTE | READ_FILE | READ_DIR
USE = READ | WRITE_FILE
"""What is needed of /dev and /proc: to open what is there, never to make anything."""
WRITE = READ | WRITE_FILE | _REMOVE | _MAKE | _REFER | _TRUNCATE
_FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE

SCOPES_SINCE = 6
"""The version of Landlock that can also forbid signals and abstract sockets (Linux 6.12)."""

_libc = ctypes.CDLL(None, use_errno=True)


def _called(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _prctl(option: int, value: int = 0) -> None:
    _called(_libc.prctl(option, value, 0, 0, 0))


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
        _libc.syscall(number, _KEYCTL_JOIN_SESSION_KEYRING, None)


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
    _called(_libc.capset(header, (ctypes.c_uint32 * 6)()))


def landlock_version() -> int:
    """Return the version of Landlock that the kernel offers, 0 for none."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)))


class Fence:
    """A Landlock domain under construction: nothing of the file system but what is allowed."""

    def __init__(self, version: int) -> None:
        self._handled = WRITE | _MAKE_DEVICE
        self._handled &= ~(_REFER if version < 2 else 0)
        self._handled &= ~(_TRUNCATE if version < 3 else 0)
        scoped = _SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS if version >= SCOPES_SINCE else 0
        attributes = (ctypes.c_uint64 * 3)(self._handled, 0, scoped)
        size = 24 if version >= SCOPES_SINCE else 8
        made = _libc.syscall(_CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), 0)
        self._ruleset = _called(made)

    def allow(self, access: int, places: Iterable[tuple[int, bool]]) -> None:
        """Allow `access` below these open folders and to these open files (`is_folder` False)."""
        for descriptor, is_folder in places:
            wanted = access & self._handled & (-1 if is_folder else _FOR_FILES)
            rule = ctypes.create_string_buffer(
                wanted.to_bytes(8, "little") + descriptor.to_bytes(4, "little"), 12
            )
            _called(_libc.syscall(_ADD_RULE, self._ruleset, _PATH_BENEATH, rule, 0))

    def close_in(self) -> None:
        """Put this process and all its descendants behind the fence, for good."""
        _called(_libc.syscall(_RESTRICT_SELF, self._ruleset, 0))
        os.close(self._ruleset)


def open_place(path: str) -> tuple[int, bool] | None:
    """Open a folder or file for `Fence.allow`; None if it is not there."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return None
    return descriptor, stat.S_ISDIR(os.fstat(descriptor).st_mode)
