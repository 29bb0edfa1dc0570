"""Carries MCP messages between standard streams and the gate's server: a line in, a line out.

It runs within the walls of candidates, as a program of theirs, with Python's own library only.
"""

from __future__ import annotations

import http.client
import json
import sys
from urllib.parse import SplitResult, urlsplit


def main(url: str) -> None:
    """Serve standard input until its end."""
    place = urlsplit(url)
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        said = _asked(place, line)
        if said:
            sys.stdout.buffer.write(said + b"\n")
            sys.stdout.buffer.flush()


def _asked(place: SplitResult, line: bytes) -> bytes:
    """Return the answer to one message; nothing for a notification."""
    connection = http.client.HTTPConnection(place.hostname or "", place.port)
    try:
        connection.request("POST", place.path, line, {"Content-Type": "application/json"})
        return b" ".join(connection.getresponse().read().split(b"\n"))
    except OSError as error:
        return _refused(line, str(error))
    finally:
        connection.close()


def _refused(line: bytes, reason: str) -> bytes:
    try:
        number = json.loads(line).get("id")
    except (ValueError, AttributeError):
        return b""
    error = {"code": -32000, "message": "the gate cannot be reached: " + reason}
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode()
