"""A small HTTP server on this machine, for a browser of the person who started it.

Any page in that browser can send requests here, and by a name of its own that means this machine
(DNS rebinding) it could read the answers. So the `Host` has to be ours, and so has the `Origin` of
whatever is no plain look at the first page; all else takes the token, which no other page knows. It
comes in a header and never in an address: those are written down in histories and logs.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

LIMIT = 64 * 1024
"""Bytes of a request's body."""

_SECONDS = 30
"""How long a connection may keep silent."""

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class PageAnswer(NamedTuple):
    """What is answered: a status, and a page or JSON."""

    status: int
    body: str
    kind: str = "text/html"


class Front(NamedTuple):
    """The first page, in which nothing is secret, and the policy that browsers keep for it."""

    page: str
    policy: str


Answering = Callable[[str, Mapping[str, Any]], PageAnswer]
"""Answers what a page of ours asks: the path, and what was sent."""


class LoopbackServer(ThreadingHTTPServer):
    """Listens on a port of 127.0.0.1 alone. Who asks by `token` is answered by `answering`."""

    daemon_threads = True

    def __init__(self, port: int, front: Front, token: str, answering: Answering) -> None:
        self.front = front
        self.token = token
        self.answering = answering
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def hosts(self) -> frozenset[str]:
        """What its first page may be called."""
        return frozenset({f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"})

    def handle_error(self, *_: object) -> None:
        """Whoever hangs up is none of ours."""


class _Handler(BaseHTTPRequestHandler):
    server: LoopbackServer
    timeout = _SECONDS
    protocol_version = "HTTP/1.1"
    server_version = "gateval"
    sys_version = ""

    def do_GET(self) -> None:
        """Give the first page, to whoever calls it by its name."""
        if self._is_ours(asks=False) and self.path == "/":
            self._send(PageAnswer(200, self.server.front.page))
        else:
            self._send(PageAnswer(404, "There is nothing here.", "text/plain"))

    def do_POST(self) -> None:
        """Answer a page of ours."""
        self._send(self._answer())

    def _answer(self) -> PageAnswer:
        said = self._body()
        if said is None:
            return PageAnswer(400, "This is no request of ours.", "text/plain")
        if not self._is_ours(asks=True):
            return PageAnswer(403, "Only its own page may ask this.", "text/plain")
        given = self.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self.server.token}".encode()):
            return PageAnswer(401, "The token is missing, or an earlier one.", "text/plain")
        return self.server.answering(self.path, said)

    def _body(self) -> Mapping[str, Any] | None:
        """Return what was sent, None for what our page never sends."""
        length = self.headers.get("Content-Length", "")
        plain = self.headers.get_content_type() == "application/json"
        if not plain or not length.isascii() or not length.isdigit() or int(length) > LIMIT:
            self.close_connection = True
            return None
        try:
            said = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            return None
        return said if isinstance(said, dict) else None

    def _is_ours(self, *, asks: bool) -> bool:
        """Whether it was called by its own name, and asked by its own page if anybody asks."""
        hosts = self.headers.get_all("Host") or [""]
        origin, site = self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site")
        if len(hosts) != 1 or hosts[0] not in self.server.hosts:
            return False
        if not asks:
            return origin is None and site in {None, "none", "same-origin"}
        return origin == f"http://{hosts[0]}" and site in {None, "same-origin"}

    def _send(self, answer: PageAnswer) -> None:
        body = answer.body.encode()
        self.send_response(answer.status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Security-Policy", self.server.front.policy)
        self.send_header("Content-Type", f"{answer.kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is written down."""
