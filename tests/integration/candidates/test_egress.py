"""What gets out of candidates that may connect to one port: each way is tried against a real listener.

Two measurements frame the test: what gets out all the same, which docs/security.md admits, and what
would get out if Landlock stood alone, which is why there is a filter of system calls.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateval.candidates.isolation.isolation_level import ResourceLimits
from gateval.errors import UsageError
from tests.helpers.isolation import held_here, isolated_world, output_of
from tests.helpers.outside import free_port

SMALL = ResourceLimits(memory_mib=256, disk_mib=64, files=500, processes=100)

WAYS = """
import ctypes, errno, json, os, socket, sys
ALLOWED, CLOSED, UDP = {ports}
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
seen = {{}}

def way(name, action):
    try:
        action()
        seen[name] = "done"
    except OSError as error:
        seen[name] = errno.errorcode.get(error.errno, str(error))

def called(number, *words):
    ctypes.set_errno(0)
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in words]
    if libc.syscall(ctypes.c_long(number), *words) < 0:
        raise OSError(ctypes.get_errno(), "")

def tcp(address, port, family=socket.AF_INET, protocol=0):
    line = socket.socket(family, socket.SOCK_STREAM, protocol)
    line.settimeout(3)
    line.connect((address, port))
    line.sendall(b"out")

def fast_open(send):
    line = socket.socket()
    line.settimeout(3)
    send(line, 0x20000000, ("127.0.0.1", CLOSED))
    line.sendall(b"out")

def sendmmsg(line, flags, address):
    host = socket.inet_aton(address[0])
    name = ctypes.create_string_buffer(
        (2).to_bytes(2, "little") + address[1].to_bytes(2, "big") + host + bytes(8))
    text = ctypes.create_string_buffer(b"out")
    part = (ctypes.c_uint64 * 2)(ctypes.addressof(text), 3)
    message = (ctypes.c_uint64 * 8)(ctypes.addressof(name), 16, ctypes.addressof(part), 1, 0, 0, 0, 0)
    if libc.sendmmsg(line.fileno(), message, 1, flags) < 0:
        raise OSError(ctypes.get_errno(), "")

def fast_open_connect():
    line = socket.socket()
    line.setsockopt(socket.IPPROTO_TCP, 30, 1)
    line.connect(("127.0.0.1", CLOSED))
    line.sendall(b"out")

def udp(family=socket.AF_INET, address="127.0.0.1"):
    socket.socket(family, socket.SOCK_DGRAM).sendto(b"out", (address, UDP))

def own_server():
    door = socket.create_server(("127.0.0.1", 0))
    globals()["own"] = door

def new(*words):
    return lambda: socket.socket(*words)

way("tcp to the allowed port", lambda: tcp("127.0.0.1", ALLOWED))
way("tcp to that port of another address", lambda: tcp("127.0.0.2", ALLOWED))
way("udp", udp)
way("a server of its own", own_server)
way("unix sockets", lambda: socket.socketpair() and socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))

way("tcp", lambda: tcp("127.0.0.1", CLOSED))
way("tcp over IPv6", lambda: tcp("::1", CLOSED, socket.AF_INET6))
way("tcp to an address of v4 in v6", lambda: tcp("::ffff:127.0.0.1", CLOSED, socket.AF_INET6))
way("tcp to its own server", lambda: tcp("127.0.0.1", own.getsockname()[1]))
way("multipath", lambda: tcp("127.0.0.1", CLOSED, protocol=262))
way("multipath over IPv6", lambda: tcp("::ffff:127.0.0.1", CLOSED, socket.AF_INET6, 262))
way("fast open, sendto", lambda: fast_open(lambda line, *more: line.sendto(b"out", *more)))
way("fast open, sendmsg", lambda: fast_open(lambda line, *more: line.sendmsg([b"out"], [], *more)))
way("fast open, sendmmsg", lambda: fast_open(sendmmsg))
way("fast open, connect", fast_open_connect)
way("io_uring", lambda: called({io_uring}, 8, ctypes.create_string_buffer(120)))
way("raw", new(socket.AF_INET, socket.SOCK_RAW, 1))
way("packets", new(17, socket.SOCK_DGRAM, 0))
way("netlink", new(16, socket.SOCK_RAW, 0))
way("virtual machines", new(40, socket.SOCK_STREAM, 0))
way("crypto", new(38, 5, 0))
way("SMC", new(43, socket.SOCK_STREAM, 0))
way("SCTP as packets", new(socket.AF_INET, socket.SOCK_SEQPACKET, 0))
way("SCTP as stream", new(socket.AF_INET, socket.SOCK_STREAM, 132))
way("ping", new(socket.AF_INET, socket.SOCK_DGRAM, 1))
way("UDP-Lite", new(socket.AF_INET6, socket.SOCK_DGRAM, 136))
high = 1 << 32
way("high bits in the family", lambda: called({socket}, high | 17, 2, 0))
way("high bits in the protocol", lambda: called({socket}, 2, 1, high | 262))
way("high bits in the kind", lambda: called({socket}, 2, high | 3, 1))
print(json.dumps(seen))
"""

OUT = {
    "tcp to the allowed port": "done",
    "tcp to that port of another address": "done",
    "udp": "done",
    "a server of its own": "done",
    "unix sockets": "done",
}
"""What still gets out, and what stays possible."""

HELD = {
    "tcp": "EACCES",
    "tcp over IPv6": "EACCES",
    "tcp to an address of v4 in v6": "EACCES",
    "tcp to its own server": "EACCES",
    "multipath": "EPROTONOSUPPORT",
    "multipath over IPv6": "EPROTONOSUPPORT",
    "fast open, sendto": "ENOTSUP",
    "fast open, sendmsg": "ENOTSUP",
    "fast open, sendmmsg": "ENOTSUP",
    "fast open, connect": "ENOPROTOOPT",
    "io_uring": "ENOSYS",
    "raw": "EPROTONOSUPPORT",
    "packets": "EPROTONOSUPPORT",
    "netlink": "EPROTONOSUPPORT",
    "virtual machines": "EPROTONOSUPPORT",
    "crypto": "EPROTONOSUPPORT",
    "SMC": "EPROTONOSUPPORT",
    "SCTP as packets": "EPROTONOSUPPORT",
    "SCTP as stream": "EPROTONOSUPPORT",
    "ping": "EPROTONOSUPPORT",
    "UDP-Lite": "EPROTONOSUPPORT",
    "high bits in the family": "EPROTONOSUPPORT",
    "high bits in the protocol": "EPROTONOSUPPORT",
    "high bits in the kind": "EPROTONOSUPPORT",
}

PAST_LANDLOCK = {"multipath", "multipath over IPv6", "io_uring", "netlink"}
"""Some of what Landlock alone lets through, on every kernel that has it."""

NUMBERS = {"x86_64": {"socket": 41, "io_uring": 425}, "aarch64": {"socket": 198, "io_uring": 425}}

BOTH = pytest.mark.parametrize("own_users", [True, False], ids=["own users", "same user"])


@dataclass(frozen=True)
class Outside:
    """What listens. The kernel takes what comes and keeps it until a test asks who was reached."""

    doors: dict[str, socket.socket]

    @property
    def ports(self) -> tuple[int, ...]:
        return tuple(door.getsockname()[1] for door in self.doors.values())

    def reached(self) -> dict[str, int]:
        """How often each was reached by the word that the program sends."""
        counts = {name: _words(name, door) for name, door in self.doors.items()}
        return {name: count for name, count in counts.items() if count}


def _words(name: str, door: socket.socket) -> int:
    door.setblocking(False)
    words = 0
    with suppress(BlockingIOError):
        while True:
            if name == "udp":
                words += door.recv(10) == b"out"
                continue
            line, _ = door.accept()
            with line:
                line.settimeout(1)
                words += line.recv(10) == b"out"
    return words


@pytest.fixture
def outside() -> Iterator[Outside]:
    """Listen on all addresses, at a port that is allowed, one that is not, and by UDP."""
    with ExitStack() as stack:

        def server() -> socket.socket:
            return stack.enter_context(
                socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
            )

        datagrams = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        datagrams.bind(("127.0.0.1", 0))
        yield Outside({"allowed": server(), "closed": server(), "udp": datagrams})


def tried(outside: Outside, *, own_users: bool, filtered: bool = True) -> dict[str, str]:
    """What a candidate that may connect to one port says of each way."""
    if own_users and os.geteuid() != 0:
        pytest.skip("users of their own take root")
    if os.uname().machine not in NUMBERS:
        pytest.skip("the numbers of this machine's system calls are not known here")
    try:
        held_here()
    except UsageError as error:
        pytest.skip(error.message)
    program = WAYS.format(ports=outside.ports, **NUMBERS[os.uname().machine])
    with isolated_world(
        SMALL, own_users=own_users, ports=[outside.ports[0]], filtered=filtered
    ) as world:
        seen: dict[str, str] = json.loads(output_of(world, program, timeout=60))
    return seen


@BOTH
def test_only_the_allowed_port_can_be_connected_to(outside: Outside, *, own_users: bool) -> None:
    assert tried(outside, own_users=own_users) == OUT | HELD
    assert outside.reached() == {"allowed": 2, "udp": 1}


def test_without_the_filter_landlock_does_not_see_it_all(outside: Outside) -> None:
    seen = tried(outside, own_users=os.geteuid() == 0, filtered=False)
    assert seen["tcp"] == "EACCES"
    through = {name for name, said in seen.items() if said == "done"} - set(OUT)
    if not Path("/proc/sys/net/mptcp/enabled").exists():
        through |= {"multipath", "multipath over IPv6"}
    assert through >= PAST_LANDLOCK
    assert outside.reached().get("closed", 0) >= len([name for name in through if "multi" in name])


LISTENS = """
import ctypes, errno, json, socket
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.argtypes = [ctypes.c_long] * 4
def called(family, protocol):  # the kernel reads 32 bits of what is asked for
    number = libc.syscall({socket}, family, socket.SOCK_STREAM, protocol)
    return "done" if number >= 0 else errno.errorcode[ctypes.get_errno()]
def becomes(protocol):
    with socket.socket() as line:
        try:
            line.setsockopt(socket.IPPROTO_TCP, 31, protocol)  # TCP_ULP
        except OSError as error:
            return errno.errorcode[error.errno]
def tried(port, family=socket.AF_INET, protocol=0):
    try:
        with socket.socket(family, socket.SOCK_STREAM, protocol) as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            line.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", port))
            line.listen()
            return "done"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
def by_itself():
    with socket.socket() as line:
        line.listen()
        return "done"
print(json.dumps({{"listed": tried({listed}), "chosen": tried(0), "unbound": by_itself(),
    "other": tried({other}), "other on v6": tried({other}, socket.AF_INET6),
    "other by MPTCP": tried({other}, protocol=262), "SMC": tried(0, 43),
    "SMC as a protocol": [tried(0, protocol=256), tried(0, socket.AF_INET6, 256)],
    "MPTCP by high bits": [called(2 | 1 << 32, 262), called(10, 262 | 1 << 40)],
    "SMC by high bits": called(43 | 1 << 33, 0), "SMC of TCP": becomes(b"smc")}}))
"""


@pytest.mark.parametrize("own_users", [True, False], ids=["users of their own", "same user"])
def test_beside_a_provider_on_this_machine_candidates_listen_where_they_may(
    own_users: bool,
) -> None:
    if own_users and os.geteuid() != 0:
        pytest.skip("users of their own take root")
    held_here()
    listed, other = free_port(), free_port()
    program = LISTENS.format(
        listed=listed, other=other, socket=NUMBERS[os.uname().machine]["socket"]
    )
    with isolated_world(SMALL, own_users=own_users, binds=[listed]) as world:
        seen = json.loads(output_of(world, program))
    assert seen.pop("other by MPTCP") == "EPROTONOSUPPORT"
    assert seen.pop("SMC") == "EPROTONOSUPPORT", "a kernel without it says EAFNOSUPPORT"
    assert set(seen.pop("SMC as a protocol")) == {"EPROTONOSUPPORT"}
    assert set(seen.pop("MPTCP by high bits")) == {"EPROTONOSUPPORT"}
    assert seen.pop("SMC by high bits") == "EPROTONOSUPPORT"
    assert seen.pop("SMC of TCP") == "ENOPROTOOPT"
    assert seen == {
        "listed": "done",
        "chosen": "done",
        "unbound": "done",
        "other": "EACCES",
        "other on v6": "EACCES",
    }
    with isolated_world(SMALL, own_users=own_users) as world:
        assert json.loads(output_of(world, program))["other"] == "done"


MOVES = """\
import json, os, pathlib
home = pathlib.Path(os.environ["HOME"])
for name in ("here", "there"):
    (home / name).mkdir()
(home / "here" / "file").write_text("moved")
os.rename(home / "here" / "file", home / "there" / "file")
print(json.dumps({"output": (home / "there" / "file").read_text()}))
"""


@pytest.mark.parametrize("own_users", [True, False], ids=["users of their own", "same user"])
def test_where_ports_are_limited_files_still_move_from_folder_to_folder(own_users: bool) -> None:
    """Package managers do so: uv and npm write beside their store, and move what is whole."""
    if own_users and os.geteuid() != 0:
        pytest.skip("users of their own take root")
    held_here()
    with isolated_world(SMALL, own_users=own_users, binds=[4000]) as world:
        assert output_of(world, MOVES) == "moved"
