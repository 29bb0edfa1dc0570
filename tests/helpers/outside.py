"""A model provider that is a process beside the gate, of any user: no candidate, no test's thread."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.helpers.isolation import open_python
from tests.hostile.ground import as_user

PROVIDER = """\
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
PORT, SAYS = {port}, {says!r}.encode()
class Provider(BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response({status})
        for name, value in {headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(SAYS)))
        self.end_headers()
        self.wfile.write(SAYS)
class Server(ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in {at!r} else socket.AF_INET
    def server_bind(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, {shares})
        if ":" in {at!r}: self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()
Server(({at!r}, PORT), Provider).serve_forever()
"""


def free_port() -> int:
    """A port of 127.0.0.1 that nobody has, and that the kernel gives nobody by itself."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port


@contextmanager
def kept_port() -> Iterator[int]:
    """A port that is bound and not listening, so that nobody else is given it by chance."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        yield kept.getsockname()[1]


@contextmanager
def running(words: Sequence[str], port: int) -> Iterator[None]:
    """Run a program beside the gate once it listens on `port`, and end it with its children."""
    with subprocess.Popen(words, stderr=subprocess.DEVNULL, start_new_session=True) as program:
        try:
            for _ in range(500):
                with socket.socket() as line:
                    if line.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.02)
            yield
        finally:
            os.killpg(program.pid, signal.SIGKILL)


def told_by(
    port: int,
    says: Mapping[str, object],
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    shares: bool = False,
    at: str = "127.0.0.1",
) -> str:
    """The program of a provider that answers everything alike."""
    words = {"status": status, "headers": dict(headers or {}), "shares": int(shares), "at": at}
    return PROVIDER.format(port=port, says=json.dumps(says), **words)


@contextmanager
def provider_outside(
    folder: Path,
    user: int | None,
    says: Mapping[str, object],
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    shares: bool = False,
    at: str = "127.0.0.1",
) -> Iterator[int]:
    """A provider of this user that answers everything alike; its port. `folder` is open to all.

    With `shares` others of its user may listen on that port, too (SO_REUSEPORT).
    """
    port = free_port()
    program = folder / "provider.py"
    program.write_text(told_by(port, says, status=status, headers=headers, shares=shares, at=at))
    program.chmod(0o644)
    with running([*as_user(user), open_python(), "-I", "-S", str(program)], port):
        yield port
