"""Connections that a candidate wins again and again, and hides it: none carries a key."""

from __future__ import annotations

import asyncio
import os
import subprocess

import pytest

from gateval.gateway.peers import no_candidate
from gateval.gateway.upstream.http_client import HttpClient, Timeouts, Unanswerable
from gateval.gateway.upstream.retry import Transient
from tests.helpers.isolation import open_python
from tests.helpers.tiers import some_always
from tests.hostile.ground import as_user

THIEF = """\
import os, socket, sys, threading, time
kept = socket.socket()
kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
kept.bind(("127.0.0.1", 0))
keys = []
def steal(device, passed):
    while True:
        try:
            with socket.socket() as one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                if device: one.setsockopt(socket.SOL_SOCKET, 25, device)
                one.bind(kept.getsockname())
                one.listen(8)
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
time.sleep(0.2)
print(kept.getsockname()[1], flush=True)
sys.stdin.read()
print(len(keys), flush=True)
os._exit(0)
"""


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
