"""Which system calls candidates may not make: a deny-list, made by libseccomp into a BPF program.

It closes what no agent needs and what faults of the kernel are reached through, and, where the
policy limits egress, the kinds of sockets that Landlock does not know. libseccomp knows the numbers
of each architecture. The program is made once per run; each candidate only loads it
(`kernel.load_filter`).
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
from collections.abc import Iterator
from typing import NamedTuple

LIBRARY = "libseccomp.so.2"

_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_BAD_ARCHITECTURE = 2  # enum scmp_filter_attr
_NOT, _EQUAL, _GREATER, _MASKED = 1, 4, 6, 7  # enum scmp_compare

_NEW_USER = 0x10000000  # CLONE_NEWUSER
_INT = 0xFFFFFFFF
"""The kernel reads 32 bits of an int, whatever a caller leaves in the others."""

REFUSED = (
    *("bpf", "perf_event_open", "userfaultfd"),
    *("add_key", "keyctl", "request_key"),
    *("kcmp", "pidfd_getfd", "process_vm_readv", "process_vm_writev", "ptrace"),
    *("chroot", "mount", "pivot_root", "setns", "swapoff", "swapon", "umount", "umount2"),
    *("fsconfig", "fsmount", "fsopen", "fspick", "mount_setattr", "move_mount", "open_tree"),
    *("kexec_file_load", "kexec_load", "reboot"),
    *("create_module", "delete_module", "finit_module", "init_module"),
    *("name_to_handle_at", "open_by_handle_at"),
)  # fmt: skip
"""Refused with EPERM, as the kernel refuses them to those who may not."""

UNKNOWN = ("clone3", "io_uring_enter", "io_uring_register", "io_uring_setup")
"""As if the kernel had no such call, so that programs take the older way. What clone3 is asked for
lies in memory, where no filter sees it; what goes through io_uring passes by every filter."""


class _Test(ctypes.Structure):
    """struct scmp_arg_cmp"""

    _fields_ = [
        ("argument", ctypes.c_uint),
        ("how", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    ]


class SyscallRule(NamedTuple):
    """Answer `number` to the call `name` where all `tests` hold of its arguments."""

    name: str
    number: int
    tests: tuple[tuple[int, int, int, int], ...] = ()


def compiled(*, sockets: bool, cut_off: bool = False, plain_tcp: bool = False) -> bytes | None:
    """Return the BPF program, or None where libseccomp is not there.

    `sockets` also refuses all sockets but Unix, TCP and UDP, and to connect but by connect(2);
    `cut_off` refuses all but pairs, and what could be left for later or changed in processes of
    others; `plain_tcp` what is another way to listen for TCP.
    """
    library = _library()
    if library is None:
        return None
    context = library.seccomp_init(_ALLOW)
    try:
        library.seccomp_attr_set(context, _BAD_ARCHITECTURE, _ERRNO | errno.ENOSYS)
        ways = _sockets() if sockets else _other_tcp() if plain_tcp else ()
        for rule in (*_calls(), *(_traces() if cut_off else ways)):
            _add(library, context, rule)
        file = os.memfd_create("filter", os.MFD_CLOEXEC)
        with os.fdopen(file, "rb") as program:
            _checked(library.seccomp_export_bpf(context, file))
            program.seek(0)
            return program.read()
    finally:
        library.seccomp_release(context)


def there_is_a_library() -> bool:
    """Whether libseccomp can be loaded here."""
    return _library() is not None


def _library() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_release.argtypes = [ctypes.c_void_p]
    library.seccomp_attr_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32]
    library.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(_Test),
    ]  # fmt: skip
    return library


def _add(library: ctypes.CDLL, context: int, rule: SyscallRule) -> None:
    number = library.seccomp_syscall_resolve_name(rule.name.encode())
    if number < 0:  # this architecture, or this release of libseccomp, has no such call
        return
    tests = (_Test * len(rule.tests))(*(_Test(*test) for test in rule.tests))
    action = _ERRNO | rule.number
    _checked(library.seccomp_rule_add_array(context, action, number, len(tests), tests))


def _checked(result: int) -> None:
    if result < 0:
        raise OSError(-result, os.strerror(-result))


def _calls() -> Iterator[SyscallRule]:
    yield from (SyscallRule(name, errno.EPERM) for name in REFUSED)
    yield from (SyscallRule(name, errno.ENOSYS) for name in UNKNOWN)
    flags = 1 if os.uname().machine == "s390x" else 0  # clone(2): there, the stack comes first
    yield SyscallRule("clone", errno.EPERM, ((flags, _MASKED, _NEW_USER, _NEW_USER),))
    yield SyscallRule("unshare", errno.EPERM, ((0, _MASKED, _NEW_USER, _NEW_USER),))


def _traces() -> Iterator[SyscallRule]:
    """Refuse sockets, what stays when its maker has ended, and to set what others are held to."""
    for name in ("socket", "shmget", "semget", "msgget", "mq_open"):
        yield SyscallRule(name, errno.EACCES)
    for name in (
        *("prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam"),
        *("sched_setscheduler", "migrate_pages", "move_pages"),
    ):
        yield SyscallRule(name, errno.EPERM, ((0, _NOT, 0, 0),))
    for name, own in (("setpriority", 0), ("ioprio_set", 1)):  # PRIO_PROCESS, IOPRIO_WHO_PROCESS
        yield SyscallRule(name, errno.EPERM, ((0, _NOT, own, 0),))
        yield SyscallRule(name, errno.EPERM, ((1, _NOT, 0, 0),))


_TCP_FASTOPEN_CONNECT, _TCP_ULP = 30, 31
_FAST_OPEN = 0x20000000  # MSG_FASTOPEN


_MPTCP, _SMC_PROTOCOL, _SMC_FAMILY = 262, 256, 43
"""Of <linux/in.h> and <linux/socket.h>: both answer plain TCP, unseen by Landlock's rules."""


def _other_tcp() -> Iterator[SyscallRule]:
    yield _tcp_option(_TCP_ULP)  # turns a socket of TCP into one of SMC
    yield SyscallRule("socket", errno.EPROTONOSUPPORT, ((0, _MASKED, _INT, _SMC_FAMILY),))
    for family in (int(socket.AF_INET), int(socket.AF_INET6)):
        for protocol in (_MPTCP, _SMC_PROTOCOL):
            tests = ((0, _MASKED, _INT, family), (2, _MASKED, _INT, protocol))
            yield SyscallRule("socket", errno.EPROTONOSUPPORT, tests)


def _sockets() -> Iterator[SyscallRule]:
    """Refuse what Landlock's rules for TCP do not see.

    Numbers between those that are allowed are refused one by one, and all above them at once.
    """
    no = errno.EPROTONOSUPPORT
    families = {int(socket.AF_UNIX), int(socket.AF_INET), int(socket.AF_INET6)}
    for name in ("socket", "socketpair"):
        for number in set(range(max(families))) - families:
            yield SyscallRule(name, no, ((0, _EQUAL, number, 0),))
        yield SyscallRule(name, no, ((0, _GREATER, max(families), 0),))
    for number in (0, 3, 4, *range(6, 16)):  # what is no stream, datagram or sequence of packets
        yield SyscallRule("socket", no, ((1, _MASKED, 0xF, number),))
    for family in families - {int(socket.AF_UNIX)}:  # there, a sequence of packets is SCTP
        packets = (1, _MASKED, 0xF, int(socket.SOCK_SEQPACKET))
        yield SyscallRule("socket", no, ((0, _EQUAL, family, 0), packets))
    protocols = {0, int(socket.IPPROTO_TCP), int(socket.IPPROTO_UDP)}
    for number in set(range(max(protocols))) - protocols:
        yield SyscallRule("socket", no, ((2, _EQUAL, number, 0),))
    yield SyscallRule("socket", no, ((2, _GREATER, max(protocols), 0),))
    for name, argument in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        yield SyscallRule(name, errno.EOPNOTSUPP, ((argument, _MASKED, _FAST_OPEN, _FAST_OPEN),))
    yield from map(_tcp_option, (_TCP_FASTOPEN_CONNECT, _TCP_ULP))


def _tcp_option(number: int) -> SyscallRule:
    option = ((1, _MASKED, _INT, socket.IPPROTO_TCP), (2, _MASKED, _INT, number))
    return SyscallRule("setsockopt", errno.ENOPROTOOPT, option)
