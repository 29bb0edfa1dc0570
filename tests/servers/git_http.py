"""A git server over HTTP on loopback: git's own `http-backend` behind a small CGI handler.

Protocol: git-http-backend(1). It notes the Authorization header of every request, and asks for one
when it has a token.
"""

from __future__ import annotations

import base64
import os
import ssl
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.servers.git_backend import Served, serve

_HEADERS = {
    "Content-Type": "CONTENT_TYPE",
    "Content-Encoding": "HTTP_CONTENT_ENCODING",
    "Git-Protocol": "HTTP_GIT_PROTOCOL",
    "Accept-Encoding": "HTTP_ACCEPT_ENCODING",
}


class GitServer:
    """Serves the repositories below `root` at `url`. Use it as a context.

    With `token`, only requests that carry it get an answer other than 401. `refuse` maps a part of
    the path to the status that such a request gets, with `location` as its header. With a
    `certificate` (a PEM file with its key) it speaks TLS. It says nothing for `silence` seconds.
    """

    def __init__(self, root: Path, *, token: str = "", certificate: Path | None = None) -> None:
        self.token = token
        self.silence = 0.0
        self.seen: list[str] = []
        """The Authorization header of each request, "" for none."""
        self.command_lines: list[bytes] = []
        """Per request, what everybody on this machine can read of the processes that run."""
        self.refuse: dict[str, int] = {}
        self.location = ""
        server = self

        class Handler(_Handler):
            owner = server
            folder = root

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self.url = f"http{'s' if certificate else ''}://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    owner: GitServer
    folder: Path
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def finish(self) -> None:
        """End TLS as its rules want; git would take an answer that just stops as cut."""
        super().finish()
        if isinstance(self.connection, ssl.SSLSocket):
            with suppress(OSError, ValueError):
                self.connection.unwrap()

    def log_message(self, format: str, *args: object) -> None:
        """Be quiet."""

    def _answer(self, body: bytes) -> None:
        given = ", ".join(self.headers.get_all("Authorization", []))
        self.owner.seen.append(given)
        self.owner.command_lines.append(_command_lines())
        time.sleep(self.owner.silence)
        for part, refusal in self.owner.refuse.items():
            if part in self.path:
                self.send_response(refusal)
                self.send_header("Location", self.owner.location)
                self.send_header("WWW-Authenticate", 'Basic realm="GitHub"')
                self.end_headers()
                return
        if self.owner.token:
            plain = f"x-access-token:{self.owner.token}".encode()
            if given != f"Basic {base64.b64encode(plain).decode()}":
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="GitHub"')
                self.end_headers()
                return
        served = self._served(body)
        self.send_response(served.status)
        for name, value in served.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(served.body)

    def _served(self, body: bytes) -> Served:
        path, _, query = self.path.partition("?")
        request = {
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "REMOTE_ADDR": "127.0.0.1",
        }
        for header, variable in _HEADERS.items():
            if header in self.headers:
                request[variable] = self.headers[header]
        return serve(self.folder, body, request, _environ())


def _environ() -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }


def _command_lines() -> bytes:
    lines = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                lines.append((process / "cmdline").read_bytes())
            except OSError:
                continue
    return b"\n".join(lines)
