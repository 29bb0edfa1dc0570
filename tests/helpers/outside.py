"""A model provider that is a process beside the gate, of any user: no candidate, no test's thread."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.helpers.isolation import open_python
from tests.hostile.ground import as_user

PROVIDER = """\
import sys
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
ThreadingHTTPServer(("127.0.0.1", PORT), Provider).serve_forever()
"""


def free_port() -> int:
    """A port of 127.0.0.1 that nobody has at this moment."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def running(words: Sequence[str], port: int) -> Iterator[None]:
    """Run a program beside the gate until it listens on `port`, and end it."""
    with subprocess.Popen(words, stderr=subprocess.DEVNULL, start_new_session=True) as program:
        try:
            for _ in range(500):
                with socket.socket() as line:
                    if line.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.02)
            yield
        finally:
            program.kill()


@contextmanager
def provider_outside(
    folder: Path,
    user: int | None,
    says: Mapping[str, object],
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Iterator[int]:
    """A provider of this user that answers everything alike; its port. `folder` is open to all."""
    port = free_port()
    program = folder / "provider.py"
    text = PROVIDER.format(
        port=port, says=json.dumps(says), status=status, headers=dict(headers or {})
    )
    program.write_text(text)
    program.chmod(0o644)
    with running([*as_user(user), open_python(), "-I", "-S", str(program)], port):
        yield port
