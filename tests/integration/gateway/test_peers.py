"""Who is at the other end of a connection, as the kernel's tables tell it in both ways."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address

import aiohttp
import pytest
from yarl import URL

from gateval.gateway import peers
from gateval.gateway.peers import (
    BoundSocket,
    NotTheirs,
    Peers,
    ResetPeer,
    Tables,
    is_own,
    no_candidate,
)
from gateval.gateway.processes import Holders
from gateval.gateway.upstream.http_client import LookingConnector, PinnedResolver, Pins, pins_of

SO_BINDTODEVICE = 25

FAMILIES = [
    ("127.0.0.1", "127.0.0.1"),
    ("0.0.0.0", "127.0.0.1"),
    ("::1", "::1"),
    ("::", "127.0.0.1"),
]
BOTH_WAYS = pytest.mark.parametrize("tables", [Tables(), Tables(diag=False)], ids=["diag", "proc"])


@contextmanager
def listening(at: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET6 if ":" in at else socket.AF_INET) as listener:
        if at == "::":
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind((at, 0))
        listener.listen()
        yield listener


@BOTH_WAYS
@pytest.mark.parametrize(("at", "to"), FAMILIES)
def test_both_ends_are_found(tables: Tables, at: str, to: str) -> None:
    with listening(at) as listener:
        port = listener.getsockname()[1]
        own = BoundSocket(os.geteuid(), os.fstat(listener.fileno()).st_ino)
        assert tables.listening(port, ip_address(to)) == [own]
        assert tables.listening(port) == [own]
        assert tables.listening(port, ip_address("127.0.0.2")) == ([] if at == to else [own])
        with socket.create_connection((to, port)) as ours:
            waiting = tables.other_end(ours)
            assert waiting is not None
            assert waiting.inode == 0, "nobody has accepted it: its user is nobody's"
            theirs, _ = listener.accept()
            with theirs:
                accepted = BoundSocket(os.geteuid(), os.fstat(theirs.fileno()).st_ino)
                assert tables.other_end(ours) == accepted
                assert Holders().of(accepted.inode) == (os.getpid(),)
    # Whoever reads the descriptors of all processes, as tests beside this one do, holds each of
    # them for a moment, and a closed listener is gone only after that.
    while own in tables.listening(port):
        time.sleep(0.001)


@BOTH_WAYS
def test_whoever_is_bound_to_a_device_is_found(tables: Tables) -> None:
    """Anybody may bind a socket to one, and the kernel then finds it by that device alone."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, b"lo")
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        with socket.create_connection(listener.getsockname()) as ours:
            theirs, _ = listener.accept()
            with theirs:
                own = BoundSocket(os.geteuid(), os.fstat(theirs.fileno()).st_ino)
                assert tables.other_end(ours) == own


def check(ours: socket.socket, allowed: peers.Allowed) -> None:
    asyncio.run(Peers().check(ours, allowed))


def test_a_listener_that_is_not_expected_is_refused_before_it_has_accepted() -> None:
    with (
        listening("127.0.0.1") as listener,
        socket.create_connection(listener.getsockname()) as ours,
        pytest.raises(NotTheirs, match=f"port {listener.getsockname()[1]} of this machine"),
    ):
        check(ours, lambda _: False)


def test_whoever_accepted_it_counts_though_he_listens_no_more() -> None:
    with listening("127.0.0.1") as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as ours:
            theirs, _ = listener.accept()
            listener.close()
            inode = os.fstat(theirs.fileno()).st_ino
            with theirs, pytest.raises(NotTheirs):
                check(ours, lambda held: held.inode != inode)


def test_a_connection_that_nobody_accepts_goes_on_after_a_while() -> None:
    """A server with one thread accepts it only when it is through with another call."""
    with (
        listening("127.0.0.1") as listener,
        socket.create_connection(listener.getsockname()) as ours,
    ):
        began = time.monotonic()
        check(ours, lambda held: held.inode != 0)
        assert time.monotonic() - began >= peers.ACCEPT_SECONDS


def test_what_a_process_of_ours_listens_on_is_a_candidates() -> None:
    """Where they have the gate's user, only descent tells."""
    program = (
        "import socket, sys; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); "
        "print(s.getsockname()[1], flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        port = int(child.stdout.readline())
        with socket.create_connection(("127.0.0.1", port)) as ours, pytest.raises(NotTheirs):
            check(ours, no_candidate(None, lambda: True))
        child.communicate("")


def test_our_own_process_and_what_leads_away_are_no_candidates() -> None:
    with (
        listening("127.0.0.1") as listener,
        socket.create_connection(listener.getsockname()) as ours,
    ):
        theirs, _ = listener.accept()
        with theirs:
            check(ours, no_candidate(None, lambda: False))
            check(ours, no_candidate((1_900_000_000, 1_900_000_100), lambda: False))
    assert not is_own(ip_address("192.0.2.77"))
    assert all(is_own(ip_address(one)) for one in ("127.0.0.1", "127.0.1.1", "::1", "0.0.0.0"))


def test_only_a_user_in_their_range_is_a_candidate() -> None:
    allowed = no_candidate((50_000, 59_999), lambda: False)
    assert [allowed(BoundSocket(user, 1)) for user in (49_999, 50_000, 59_999, 60_000)] == [
        True, False, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize("users", [None, (50_000, 59_999)])
@pytest.mark.parametrize("may", [True, False])
def test_where_nothing_tells_it_is_the_policy_that_decides(
    users: tuple[int, int] | None, *, may: bool
) -> None:
    allowed = no_candidate(users, lambda: may)
    if may:
        assert allowed(peers.UNTOLD)
    else:
        with pytest.raises(NotTheirs, match="nothing tells who answers"):
            allowed(peers.UNTOLD)


USED_UP = """\
import socket, subprocess
from ipaddress import ip_address
from gateval.gateway.peers import is_own
for version in "46":
    open(f"/proc/sys/net/ipv{version}/ip_nonlocal_bind", "w").write("1")
for line in ("link set lo up", "addr add 10.9.8.7/32 dev lo", "-6 addr add fe80::7/64 dev lo nodad"):
    subprocess.run(["ip", *line.split()], check=True)
while b"fe80::7" not in subprocess.run(["ip", "-6", "route", "show", "table", "local"], capture_output=True).stdout: pass
open("/proc/sys/net/ipv4/ip_local_port_range", "w").write("50000 50001")
kept = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in "12"]
for one in kept:
    one.bind(("0.0.0.0", 0))
print([is_own(ip_address(one)) for one in ("10.9.8.7", "fe80::7", "10.9.8.6", "fe80::8")])
"""


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="takes root and ip(8)")
def test_an_address_is_ours_if_the_kernel_delivers_it_here_whoever_may_bind_it() -> None:
    """Candidates can use up the ports of this machine, and machines let others' addresses be bound
    (`ip_nonlocal_bind`); a link's address takes its device.
    """
    words = ["unshare", "--net", sys.executable, "-c", USED_UP]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "[True, True, False, False]\n"


NO_NETLINK = """\
import ctypes, socket, subprocess
from ipaddress import ip_address
from gateval.gateway.peers import is_own
for line in ("link set lo up", "addr add 10.9.8.7/32 dev lo", "-6 addr add fd00::7/128 dev lo nodad"):
    subprocess.run(["ip", *line.split()], check=True)
while b"fd00::7" not in subprocess.run(["ip", "-6", "route", "show", "table", "local"], capture_output=True).stdout: pass
class Compared(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64),
                ("b", ctypes.c_uint64)]
library = ctypes.CDLL("libseccomp.so.2")
library.seccomp_init.restype = ctypes.c_void_p
rules = ctypes.c_void_p(library.seccomp_init(0x7FFF0000))
family = Compared(0, 4, socket.AF_NETLINK, 0)
call = library.seccomp_syscall_resolve_name(b"socket")
library.seccomp_rule_add_array(rules, 0x00050001, call, 1, ctypes.byref(family))
assert library.seccomp_load(rules) == 0
print([is_own(ip_address(one)) for one in ("10.9.8.7", "fd00::7", "fe80::7", "10.9.8.6", "fd00::8")])
"""


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="takes root and ip(8)")
def test_where_the_kernels_routes_cannot_be_asked_what_can_be_bound_is_ours() -> None:
    """Of a link's address nobody can tell then, so it may be ours."""
    words = ["unshare", "--net", sys.executable, "-c", NO_NETLINK]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "[True, True, True, False, False]\n"


def test_names_that_mean_this_machine_are_pinned_to_where_somebody_answers() -> None:
    with listening("127.0.0.1") as listener:
        port = listener.getsockname()[1]
        urls = [f"http://localhost:{port}/v1", "http://127.0.0.1:1/v1", "https://no.invalid/v1"]
        assert asyncio.run(pins_of(urls)) == {("localhost", port): ("127.0.0.1",)}


@pytest.mark.parametrize("name", ["LOCALHOST.", "127.1", "2130706433", "0x7f.1", "ⓛocalhost"])
def test_however_this_machine_is_spelled_nobody_else_is_asked(name: str) -> None:
    """It is pinned, or not followed: a name that the client spells otherwise means no pin."""

    async def resolved(port: int) -> list[str]:
        url = URL(f"http://{name}:{port}/v1")
        resolver = PinnedResolver(await pins_of([f"http://{name}:{port}/v1"]))
        try:
            return [one["host"] for one in await resolver.resolve(url.raw_host or "", port)]
        except NotTheirs:
            return []
        finally:
            await resolver.close()

    with listening("127.0.0.1") as listener:
        found = asyncio.run(resolved(listener.getsockname()[1]))
    assert found in (["127.0.0.1"], [])


def test_a_name_that_comes_home_later_is_refused() -> None:
    async def resolved(name: str, pins: Pins) -> list[str]:
        resolver = PinnedResolver(pins)
        try:
            return [one["host"] for one in await resolver.resolve(name, 8000)]
        finally:
            await resolver.close()

    assert asyncio.run(resolved("LOCALHOST.", {("localhost", 8000): ("::1",)})) == ["::1"]
    with pytest.raises(NotTheirs, match="did not lead to this machine"):
        asyncio.run(resolved("localhost", {("localhost", 9000): ("::1",)}))


@pytest.mark.parametrize(
    ("resets", "looks", "answered"), [(0, 1, True), (2, 3, True), (9, 3, False)]
)
def test_a_connection_that_is_reset_while_it_is_looked_at_is_made_anew_a_few_times(
    resets: int, looks: int, *, answered: bool
) -> None:
    """One of several who listen there may have ended: whoever has it then is looked at, too."""
    looked: list[socket.socket] = []

    async def look(made: socket.socket) -> None:
        looked.append(made)
        if len(looked) <= resets:
            raise ResetPeer("is not who listens there")

    async def asked(port: int) -> int:
        client = aiohttp.ClientSession(connector=LookingConnector(look))
        async with client, client.get(f"http://127.0.0.1:{port}") as response:
            return response.status

    async def run() -> int:
        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 204 Yes\r\nConnection: close\r\n\r\n")
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            return await asked(server.sockets[0].getsockname()[1])

    if answered:
        assert asyncio.run(run()) == 204
    else:
        with pytest.raises(ResetPeer):
            asyncio.run(run())
    assert len(looked) == looks
    assert all(made.fileno() == -1 for made in looked[:resets]), "each is closed"


_BECOMES_THE_GATE = """\
import ctypes, os, subprocess, sys
if sys.argv[1:] == ["shell"]:  # it starts a provider and becomes the gate
    told, tells = os.pipe()
    os.set_inheritable(tells, True)
    worker = "import os, sys, time; pid = os.fork(); pid and os.write(int(sys.argv[1]), b'%d ' % pid); time.sleep(60)"
    here = subprocess.Popen([sys.executable, "-c", worker, str(tells)], pass_fds=[tells])
    worked = os.read(told, 20).decode()
    program = open("/proc/self/cmdline").read().split("\\0")[2]
    os.execv(sys.executable, [sys.executable, "-c", program, str(here.pid), worked])
import time
time.sleep(0.05)  # a tick of the clock that tells when a process began is 0.01 s
from gateval.gateway.processes import is_candidate
ctypes.CDLL(None).prctl(36, 1)  # as the gate does: orphans below it are its children
started = subprocess.Popen(["sleep", "60"])
parent = "import subprocess; print(subprocess.Popen(['sleep', '60'], stdout=2).pid)"
orphan = int(subprocess.run([sys.executable, "-c", parent], capture_output=True, text=True).stdout)
pids = [*map(int, sys.argv[1:]), started.pid, orphan]
print([is_candidate(pid, os.getpid()) for pid in pids])
for pid in pids: os.kill(pid, 9)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="takes /proc")
def test_what_a_shell_started_before_it_became_the_gate_is_no_candidate_and_an_orphan_is() -> None:
    """`provider & exec gateval check`, as in an entry point: the provider and its worker."""
    words = [sys.executable, "-c", _BECOMES_THE_GATE, "shell"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout == "[False, False, True, True]\n", done.stderr
