"""A webhook on loopback: it keeps what it is sent, and answers as a test says."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Hook:
    """`got` are the bodies that came, `paths` where to; `status` is the answer.

    While `silent` is not set, nothing is answered. Answers lead to `elsewhere` if there is such.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.port = 0
        self.got: list[Any] = []
        self.paths: list[str] = []
        self.hosts: list[str] = []
        self.status = 200
        self.elsewhere = ""
        self.silent = threading.Event()
        self.silent.set()

    @property
    def url(self) -> str:
        """Its whole address, which is a secret."""
        return f"http://127.0.0.1:{self.port}{self.path}"


@contextmanager
def webhook(
    path: str = "/services/T0/B0/s3cr3t-path", certificate: Path | None = None
) -> Iterator[Hook]:
    """Serve on a free port of this machine, with a certificate by TLS."""
    hook = Hook(path)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            hook.paths.append(self.path)
            hook.hosts.append(self.headers["Host"])
            hook.got.append(json.loads(body))
            hook.silent.wait(60)
            self.send_response(hook.status)
            if hook.elsewhere:
                self.send_header("Location", hook.elsewhere)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        server.daemon_threads = True
        hook.port = server.server_port
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield hook
        hook.silent.set()
        server.shutdown()
