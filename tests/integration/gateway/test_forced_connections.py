"""Connections that a candidate wins again and again, and hides it: none carries a key."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys

import pytest

from gateval.gateway.peers import NotTheirs, Peers, no_candidate
from gateval.gateway.upstream.http_client import HttpClient, Timeouts
from gateval.gateway.upstream.retry import Transient, Unanswerable
from tests.helpers.isolation import open_python
from tests.helpers.tiers import some_always
from tests.hostile.ground import ROOT, as_user, gate_command

THIEF = """\
import os, socket, sys, threading, time
kept = socket.socket()
kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
kept.bind(("127.0.0.1", 0))
keys, up = [], threading.Event()
def steal(device, passed):
    while True:
        try:
            with socket.socket() as one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                if device: one.setsockopt(socket.SOL_SOCKET, 25, device)
                one.bind(kept.getsockname())
                one.listen(8)
                up.set()
                peer, _ = one.accept()
            if passed:  # nobody holds it meanwhile
                ours, theirs = socket.socketpair()
                socket.send_fds(ours, [b"x"], [peer.fileno()])
                peer.close()
                time.sleep(0.02)
                peer = socket.socket(fileno=socket.recv_fds(theirs, 1, 1)[1][0])
            with peer:
                if b"uthorization" in peer.recv(65536): keys.append(1)
        except OSError:
            time.sleep(0.002)
way = {"at once": (b"", False), "on a device": (b"lo", False), "on its way": (b"", True)}[sys.argv[1]]
threading.Thread(target=steal, args=way, daemon=True).start()
up.wait()
print(kept.getsockname()[1], flush=True)
sys.stdin.read()
print(len(keys), flush=True)
os._exit(0)
"""


HOPPING = """\
import ctypes, os, select, socket, sys, time
ctypes.CDLL(None).prctl(36, 1)  # its orphans are its own,
ctypes.CDLL(None).signal(17, 1)  # and gone at once
one, (ours, theirs) = socket.create_server(("127.0.0.1", 0)), socket.socketpair()
port = one.getsockname()[1]
if os.fork() == 0:
    peers, null = [], os.open("/dev/null", 0)
    while True:
        late = []  # looked into after this one, and for long
        for _ in range(8):
            late.append(os.fork())
            if not late[-1]:
                for each in (one, *peers): each.close()
                for _ in range(3500): os.dup(null)
                time.sleep(3)
                os._exit(0)
        until = time.monotonic() + 0.2
        while time.monotonic() < until:
            for each in select.select([one, *peers], [], [], 0.01)[0]:
                if each is one:
                    peers.append(one.accept()[0])
                    continue
                peers.remove(each)
                try:
                    if b"uthorization" in each.recv(65536): ours.send(b"k")
                except OSError: pass
                each.close()
        for each in late: os.kill(each, 9)
        if os.fork(): os._exit(0)  # another has it from now on
one.close()
print(port, flush=True)
sys.stdin.read()
theirs.setblocking(False)
try: print(len(theirs.recv(1000)), flush=True)
except BlockingIOError: print(0, flush=True)
os.killpg(0, 9)
"""


CALLING = """\
import ctypes, os, select, socket, struct, sys
steps = ((0x30, 0, 0, 13), (0x45, 0, 1, 4), (6, 0, 0, 0), (6, 0, 0, 0xFFFF))
no_reset = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
filtered = struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(no_reset))
calls, found, keys = select.poll(), {}, 0
for port in range(50000, 50064):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.setsockopt(socket.SOL_SOCKET, 26, filtered)  # SO_ATTACH_FILTER
    one.bind(("127.0.0.1", 4000))
    one.setblocking(False)
    one.connect_ex(("127.0.0.1", port))
    calls.register(one, select.POLLIN)
    found[one.fileno()] = one
calls.register(0, select.POLLIN)
print("calls", flush=True)
while True:
    for number, _ in calls.poll():
        if number == 0:
            print(keys, flush=True)
            sys.exit()
        calls.unregister(number)
        with found.pop(number) as one:
            one.setblocking(True)
            try: keys += b"uthorization" in one.recv(65536)
            except OSError: pass
"""
CALLED = """\
import asyncio, subprocess, sys
from tests.integration.gateway.test_forced_connections import CALLING, HttpClient, Timeouts, _asked
from tests.integration.gateway.test_forced_connections import no_candidate, open_python
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
open("/proc/sys/net/ipv4/ip_local_port_range", "w").write("50000 50063")
allowed = no_candidate((0, 0) if sys.argv[1] == "by user" else None, lambda: False)
if sys.argv[2] == "unlooked": allowed = lambda held: True
words, pipe = [open_python(), "-I", "-S", "-c", CALLING], subprocess.PIPE
with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as one:
    one.stdout.readline()
    client = HttpClient(Timeouts(answer=3), allowed=allowed)
    refused = asyncio.run(_asked("http://127.0.0.1:4000/v1", 12, client))
    print(refused > 5, int(one.communicate("")[0]) > 5)
"""


FORGETFUL = """\
import ctypes, socket, struct, sys
steps = ((0x30, 0, 0, 13), (0x45, 1, 0, 0x0A), (6, 0, 0, 0), (6, 0, 0, 0xFFFFFFFF))
only_begins = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
filtered, others, places = struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(only_begins)), [], []
def listen(port=0):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.setsockopt(socket.SOL_SOCKET, 26, filtered)  # SO_ATTACH_FILTER: no ACK without data or SYN
    one.bind(("127.0.0.1", port))
    one.listen(0)
    for _ in range(3):  # more half-made connections than it may have: cookies from now on
        others.append(socket.socket())
        others[-1].setblocking(False)
        others[-1].connect_ex(one.getsockname())
    return one
one = listen()
port = one.getsockname()[1]
print(port, flush=True)
sys.stdin.readline()
one.close()
print("gone", flush=True)
sys.stdin.readline()
one = listen(port)
print("back", flush=True)
one.settimeout(3)
try: print(one.accept()[0].recv(100).decode(), flush=True)
except OSError: print("nothing", flush=True)
"""


@pytest.mark.parametrize("looks", [True, False], ids=["looked", "unlooked"])
def test_whoever_remembers_nothing_of_a_connection_is_not_taken_for_an_engine(
    *, looks: bool
) -> None:
    """A SYN cookie is in no table: who listened is gone while it is looked at, and comes back for the
    first byte. Unlooked at, he gets it.
    """
    pipe = subprocess.PIPE
    words = [open_python(), "-I", "-S", "-c", FORGETFUL]
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, bufsize=1) as thief:
        assert thief.stdout is not None
        assert thief.stdin is not None
        with socket.create_connection(("127.0.0.1", int(thief.stdout.readline()))) as ours:
            thief.stdin.write("go\n")
            assert thief.stdout.readline() == "gone\n"
            if looks:
                with pytest.raises(NotTheirs):
                    asyncio.run(Peers().check(ours, lambda _: False))
            thief.stdin.write("return\n")
            assert thief.stdout.readline() == "back\n"
            if not looks:
                ours.sendall(b"key")
                assert thief.stdout.readline() == "key\n"


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="takes root and ip(8)")
@pytest.mark.parametrize("told", ["by user", "by descent"])
@pytest.mark.parametrize(
    ("look", "seen"), [("looked", "True False\n"), ("unlooked", "False True\n")]
)
def test_whoever_calls_the_gate_while_it_calls_gets_no_key(told: str, look: str, seen: str) -> None:
    """Two calls that meet are a connection, and nobody has listened. Unlooked at, he gets keys."""
    words = ["unshare", "--net", sys.executable, "-c", CALLED, told, look]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == seen


def test_whoever_hands_a_socket_on_before_it_is_asked_whose_he_is_gets_no_key() -> None:
    """Who is found to hold it has ended when his parents are looked for."""
    pipe = subprocess.PIPE
    words = [open_python(), "-I", "-S", "-c", HOPPING]
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, start_new_session=True) as one:
        assert one.stdout is not None
        url = f"http://127.0.0.1:{int(one.stdout.readline())}/v1"
        client = HttpClient(Timeouts(answer=3), allowed=no_candidate(None, lambda: False))
        refused = asyncio.run(_asked(url, 5, client))
        keys, _ = one.communicate("")
    assert keys == "0\n"
    assert refused == 5


@pytest.mark.parametrize("user", [4242, None], ids=["users of their own", "same user"])
@pytest.mark.parametrize("way", ["on a device", "at once", "on its way"])
@pytest.mark.parametrize("times", some_always([50, 500], 2))
def test_no_forced_connection_carries_a_key(user: int | None, way: str, times: int) -> None:
    if user is not None and os.geteuid() != 0:
        pytest.skip("users of their own take root")
    allowed = no_candidate(None if user is None else (user, user), lambda: False)
    words = [*as_user(user), open_python(), "-I", "-S", "-c", THIEF, way]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as thief:
        assert thief.stdout is not None
        url = f"http://127.0.0.1:{int(thief.stdout.readline())}/v1"
        refused = asyncio.run(_asked(url, times, HttpClient(Timeouts(answer=3), allowed=allowed)))
        keys, _ = thief.communicate("")
    assert keys == "0\n"
    assert refused, "some found him listening"


ORDINARY = """\
import asyncio, subprocess, sys
from gateval.gateway.peers import no_candidate
from gateval.gateway.upstream.http_client import HttpClient, Timeouts
from gateval.gateway.upstream.retry import Unanswerable
from gateval.gateway.upstream.retry import Transient
words, times = sys.argv[2:], int(sys.argv[1])
async def asked(url):
    refused = 0
    allowed = no_candidate(None, lambda: False)
    async with HttpClient(Timeouts(answer=3), allowed=allowed) as client:
        for _ in range(times):
            try: await client.post(url, headers={"Authorization": "Bearer k"}, body=b"{}", proxy=None)
            except Unanswerable: refused += 1
            except Transient: pass
            await asyncio.sleep(0.003)
    return refused
pipe = subprocess.PIPE
with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as thief:
    url = f"http://127.0.0.1:{int(thief.stdout.readline())}/v1"
    refused = asyncio.run(asked(url))
    keys, _ = thief.communicate("")
    print(refused > 0, int(keys))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to become another")
@pytest.mark.parametrize("way", ["on a device", "at once", "on its way"])
@pytest.mark.parametrize("times", some_always([50, 500], 2))
def test_an_ordinary_users_gate_sends_no_key_either(way: str, times: int) -> None:
    words, variables = gate_command(4242)
    thief = [open_python(), "-I", "-S", "-c", THIEF, way]
    started = [*words[:-2], "-c", ORDINARY, str(times), *thief]
    done = subprocess.run(started, env=variables, capture_output=True, text=True, check=False)
    assert done.stdout == "True 0\n", done.stderr


async def _asked(url: str, times: int, client: HttpClient) -> int:
    refused = 0
    headers = {"Authorization": "Bearer key"}
    async with client:
        for _ in range(times):
            try:
                await client.post(url, headers=headers, body=b"{}", proxy=None)
            except Unanswerable:
                refused += 1
            except Transient:
                pass
            await asyncio.sleep(0.003)
    return refused
