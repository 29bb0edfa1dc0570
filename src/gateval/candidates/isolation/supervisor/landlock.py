"""Landlock(7): a process gives up what it could reach, files and ports, for good.

The numbers are from `include/uapi/linux/landlock.h`; the calls have the same ones on every
architecture, since Linux 5.13.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable, Sequence
from typing import Any

from gateval.candidates.isolation.supervisor.kernel import called, libc

_CREATE_RULESET = 444
_ADD_RULE = 445
_RESTRICT_SELF = 446
_VERSION = 1
_PATH_BENEATH, _NET_PORT = 1, 2

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
_REMOVE = 1 << 4 | 1 << 5
_MAKE_DEVICE = 1 << 6 | 1 << 11
_MAKE = 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 12
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_BIND_TCP, _CONNECT_TCP = 1 << 0, 1 << 1
_CHOSEN_BY_THE_KERNEL = 0
_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 3

READ = EXECUTE | READ_FILE | READ_DIR
USE = READ | WRITE_FILE
"""To open what is there for writing too, never to make anything: devices, and /proc/self."""
WRITE = READ | WRITE_FILE | _REMOVE | _MAKE | _REFER | _TRUNCATE
_FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE

PORTS_SINCE = 4
"""The version that can also limit the ports that TCP connects to (Linux 6.7)."""

SCOPES_SINCE = 6
"""The version that can also forbid signals and abstract sockets (Linux 6.12)."""

Places = Iterable[tuple[int, bool]]


def landlock_version() -> int:
    """Return the version of Landlock that the kernel offers, 0 for none."""
    return max(0, int(libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)))


class Fence:
    """A Landlock domain under construction: nothing of the file system but what is allowed.

    `ports` are those that TCP may connect to, `binds` those that it may be bound to beside one that
    the kernel chooses; None for all of them. Raises `OSError`.
    """

    def __init__(
        self, version: int, ports: Sequence[int] | None = None, binds: Sequence[int] | None = None
    ) -> None:
        self._handled = WRITE | _MAKE_DEVICE
        self._handled &= ~(_REFER if version < 2 else 0)
        self._handled &= ~(_TRUNCATE if version < 3 else 0)
        attributes = [self._handled]
        if version >= PORTS_SINCE:
            connects = 0 if ports is None else _CONNECT_TCP
            attributes.append(connects | (0 if binds is None else _BIND_TCP))
        if version >= SCOPES_SINCE:
            attributes.append(_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS)
        filled = (ctypes.c_uint64 * len(attributes))(*attributes)
        size = ctypes.c_size_t(ctypes.sizeof(filled))
        self._ruleset = called(libc.syscall(_CREATE_RULESET, ctypes.byref(filled), size, 0))
        bound = () if binds is None else (_CHOSEN_BY_THE_KERNEL, *binds)
        for access, listed in ((_CONNECT_TCP, ports or ()), (_BIND_TCP, bound)):
            for port in listed:
                self._add(_NET_PORT, (ctypes.c_uint64 * 2)(access, port))

    def allow(self, access: int, places: Places) -> None:
        """Allow `access` below these open folders and to these open files (`is_folder` False)."""
        for descriptor, is_folder in places:
            wanted = access & self._handled & (-1 if is_folder else _FOR_FILES)
            packed = wanted.to_bytes(8, "little") + descriptor.to_bytes(4, "little")
            self._add(_PATH_BENEATH, ctypes.create_string_buffer(packed, 12))

    def close_in(self) -> None:
        """Put this process and all its descendants behind the fence, for good."""
        called(libc.syscall(_RESTRICT_SELF, self._ruleset, 0))
        os.close(self._ruleset)

    def _add(self, kind: int, rule: ctypes.Array[Any]) -> None:
        called(libc.syscall(_ADD_RULE, self._ruleset, kind, rule, 0))


def open_place(path: str) -> tuple[int, bool] | None:
    """Open a folder or file for `Fence.allow`; None if it is not there."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return None
    return descriptor, stat.S_ISDIR(os.fstat(descriptor).st_mode)
