"""The lockers of a parcel station, in memory: the stand-in for a database."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ALL = 2
taken: list[str] = []


class Lockers(BaseHTTPRequestHandler):
    """GET says how many are free, POST takes one, DELETE empties all."""

    def do_GET(self) -> None:  # noqa: D102 - as above
        self._say({"free": ALL - len(taken)})

    def do_POST(self) -> None:  # noqa: D102
        number = self.rfile.read(int(self.headers["Content-Length"])).decode()
        taken.append(number)
        self._say({"locker": len(taken)})

    def do_DELETE(self) -> None:  # noqa: D102
        taken.clear()
        self._say({"free": ALL})

    def _say(self, body: dict[str, int]) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Polls for readiness are no news."""


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Lockers).serve_forever()
