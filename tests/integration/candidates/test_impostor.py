"""A program that takes a server's port before the server does must not answer in its place."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateval.candidates.isolation.isolation_level import ResourceLimits
from gateval.domain.trials.trial import Answer
from tests.helpers.candidates import ask
from tests.helpers.isolation import isolated_world, open_python
from tests.helpers.serving import ECHO, answers, server

SLOW = "import os, time\nwhile not os.path.exists('taken'): time.sleep(0.01)\n" + ECHO
LIE = b'{"reply": "I am base, and I am bad."}'
REPLY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"


def _port_of(program: str) -> int:
    """Find the port in the arguments of a process, as every user of the machine can."""
    while True:
        for process in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                words = (process / "cmdline").read_bytes().split(b"\0")
                if program.encode() in words and words[-2].isdigit():
                    return int(words[-2])
        time.sleep(0.005)


@contextlib.contextmanager
def impostor(program: str, taken: Path) -> Iterator[None]:
    """Take the first port that a server of this name is told, say so, and answer there."""
    listener = socket.socket()

    def work() -> None:
        listener.bind(("127.0.0.1", _port_of(program)))
        listener.listen(50)
        taken.touch()
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                peer.recv(65_536)
                peer.sendall(REPLY % (len(LIE), LIE))
                peer.close()

    threading.Thread(target=work, daemon=True).start()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@pytest.mark.parametrize("own_users", [True, False], ids=["users of their own", "same user"])
def test_whoever_took_the_port_first_does_not_answer(*, own_users: bool) -> None:
    if own_users and os.geteuid() != 0:
        pytest.skip("users of their own take root")
    name = f"{secrets.token_hex(8)}.py"  # no other test's
    with isolated_world(ResourceLimits(), own_users=own_users) as world:
        world.write(name, SLOW)
        python = (open_python(), "-I", "-S", name, "{port}")
        with impostor(name, world.export / "taken"):
            (found,) = answers(world, server(command=python), ask(timeout=20))
    assert isinstance(found, Answer), found
    assert found.output.startswith("You said"), "another port was tried, and the server asked"
