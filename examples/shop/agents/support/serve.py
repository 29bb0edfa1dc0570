"""The customer-support agent: a server that answers messages with a model and the desk's tools.

`GET /healthz` says that it is up; `POST /chat` takes `{"message": ...}` and gives `{"reply": ...}`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from agent import NoReply, answer
from desk import Desk

HERE = Path(__file__).parent


class Chat(BaseHTTPRequestHandler):
    """One connection of a customer."""

    def do_GET(self) -> None:
        """Say that the server is up."""
        self.say(200 if self.path == "/healthz" else 404, {})

    def do_POST(self) -> None:
        """Answer a message, in a conversation and at a desk of its own."""
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["message"]
        with tempfile.TemporaryDirectory() as folder:
            desk = Desk(HERE / "orders.json", Path(folder) / "support-desk.json")
            try:
                self.say(200, {"reply": answer(message, desk)})
            except NoReply as error:
                print(f"support agent: {error}", file=sys.stderr, flush=True)
                self.say(502, {"error": str(error)})

    def say(self, status: int, document: dict[str, Any]) -> None:
        """Answer with JSON."""
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing but errors."""


def main() -> None:
    """Listen on the port that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Chat).serve_forever()


if __name__ == "__main__":
    main()
