"""A whole agent for the runtime `http`: a server that knows nothing of Gateval.

It speaks its own JSON; the manifest says how to ask and where the answer stands. The steps are its
own account of what it did, so that assertions on tool calls work without a model.
"""

import json
import os
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PARCELS = {"P-1001": "in Lyon, arriving tomorrow", "P-1002": "at the sorting office"}


class Counter(BaseHTTPRequestHandler):
    """`GET /healthz` and `POST /chat`."""

    def do_GET(self) -> None:
        """Say that the server is up."""
        self.send(200 if self.path == "/healthz" else 404, {})

    def do_POST(self) -> None:
        """Answer a message."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send(200, answer(body["message"], body["customer"]))

    def send(self, status: int, document: dict[str, object]) -> None:
        """Answer with JSON."""
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def answer(message: str, customer: str) -> dict[str, object]:
    number = re.search(r"P-\d{4}", message)
    if number is None:
        return {"reply": "Which parcel do you mean? Please give me its number.", "steps": []}
    found = PARCELS.get(number.group(), "unknown to us")
    reply = f"{os.environ['COUNTER_NAME']} to {customer}: {number.group()} is {found}."
    call = {"tool": "find_parcel", "id": "1"}
    steps = [
        {"type": "user", "text": message},
        {"type": "tool_call", "arguments": {"number": number.group()}, **call},
        {"type": "tool_result", "text": found, **call},
        {"type": "assistant", "text": reply},
    ]
    return {"reply": reply, "steps": steps}


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Counter).serve_forever()
