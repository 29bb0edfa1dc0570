"""Calls of the Linux kernel that Python does not offer, Landlock rules and system calls that are
refused.

The numbers are the kernel's, from `include/uapi/linux/{prctl,capability,keyctl,seccomp}.h`.

The numbers are from `include/uapi/linux/landlock.h`; the calls have the same ones on every
architecture, since Linux 5.13.

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
import stat
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

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
    """Have this process and its descendants make no call that the BPF `program` refuses. It needs
    `gain_no_privileges` before. Raises `OSError`.
    """
    filled = _Program(len(program) // _INSTRUCTION, program)
    called(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(filled), 0, 0))


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


class LandlockRuleset:
    """A Landlock domain under construction: nothing of the file system but what is allowed. `ports`
    are those that TCP may connect to, None for all of them. Raises `OSError`.
    """

    def __init__(self, version: int, ports: Sequence[int] | None = None) -> None:
        self._handled = WRITE | _MAKE_DEVICE
        self._handled &= ~(_REFER if version < 2 else 0)
        self._handled &= ~(_TRUNCATE if version < 3 else 0)
        attributes = [self._handled]
        if version >= PORTS_SINCE:
            attributes.append(0 if ports is None else _CONNECT_TCP)
        if version >= SCOPES_SINCE:
            attributes.append(_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS)
        self._ruleset = _created(attributes)
        _add_ports(self._ruleset, _CONNECT_TCP, ports or ())

    def allow(self, access: int, places: Places) -> None:
        """Allow `access` below these open folders and to these open files (`is_folder` False)."""
        for descriptor, is_folder in places:
            wanted = access & self._handled & (-1 if is_folder else _FOR_FILES)
            _add_place(self._ruleset, wanted, descriptor)

    def close_in(self) -> None:
        """Put this process and all its descendants behind the fence, for good."""
        close_in(self._ruleset)


def bind_ruleset(binds: Iterable[int]) -> int:
    """Return a second fence, open: TCP may be bound to these ports, and to one that the kernel
    chooses. To make it for tens of thousands takes 20 ms. Raises `OSError`.

    Each fence forbids to move files from folder to folder, unless it says otherwise, so this one
    says it of all folders: the first fence limits that.
    """
    ruleset = _created([_REFER, _BIND_TCP])
    if (root := open_place("/")) is not None:
        _add_place(ruleset, _REFER, root[0])
        os.close(root[0])
    _add_ports(ruleset, _BIND_TCP, (_CHOSEN_BY_THE_KERNEL, *binds))
    return ruleset


def close_in(ruleset: int) -> None:
    """Put this process and all its descendants behind a fence, for good. Raises `OSError`."""
    called(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _created(attributes: Sequence[int]) -> int:
    filled = (ctypes.c_uint64 * len(attributes))(*attributes)
    size = ctypes.c_size_t(ctypes.sizeof(filled))
    return called(libc.syscall(_CREATE_RULESET, ctypes.byref(filled), size, 0))


def _add_place(ruleset: int, access: int, descriptor: int) -> None:
    packed = access.to_bytes(8, "little") + descriptor.to_bytes(4, "little")
    rule = ctypes.create_string_buffer(packed, 12)
    called(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0))


def _add_ports(ruleset: int, access: int, ports: Iterable[int]) -> None:
    rule = (ctypes.c_uint64 * 2)(access, 0)
    given = ctypes.byref(rule)
    for rule[1] in ports:
        called(libc.syscall(_ADD_RULE, ruleset, _NET_PORT, given, 0))


def open_place(path: str) -> tuple[int, bool] | None:
    """Open a folder or file for `LandlockRuleset.allow`; None if it is not there."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return None
    return descriptor, stat.S_ISDIR(os.fstat(descriptor).st_mode)


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
    library = filter_library()
    if library is None:
        return None
    context = library.seccomp_init(_ALLOW)
    try:
        library.seccomp_attr_set(context, _BAD_ARCHITECTURE, _ERRNO | errno.ENOSYS)
        ways = _sockets() if sockets else _other_tcp() if plain_tcp else ()
        for rule in (*_calls(), *(_traces() if cut_off else ways)):
            number = library.seccomp_syscall_resolve_name(rule.name.encode())
            if number >= 0:  # else this architecture, or this libseccomp, has no such call
                count, action = len(rule.tests), _ERRNO | rule.number
                tests = (_Test * count)(*(_Test(*test) for test in rule.tests))
                _checked(library.seccomp_rule_add_array(context, action, number, count, tests))
        file = os.memfd_create("filter", os.MFD_CLOEXEC)
        with os.fdopen(file, "rb") as program:
            _checked(library.seccomp_export_bpf(context, file))
            program.seek(0)
            return program.read()
    finally:
        library.seccomp_release(context)


def filter_library() -> ctypes.CDLL | None:
    """Return libseccomp, None where it cannot be loaded."""
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
    """Refuse what Landlock's rules for TCP do not see. Numbers between those that are allowed are
    refused one by one, and all above them at once.
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
