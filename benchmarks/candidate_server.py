"""The candidate of `run_http`'s second half: as light a server as Python gives.

It asks the model once per message and passes on what it says. It runs in a generated repository;
nothing of it is imported here.
"""

import http.client
import json
import os
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer

DOOR = urllib.parse.urlsplit(os.environ.get("OPENAI_BASE_URL", ""))
HEADERS = {
    "Content-Type": "application/json",
    "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}",
}


class Chat(BaseHTTPRequestHandler):
    """`POST /chat` with `{"message": ...}` gives `{"reply": ...}`."""

    def do_POST(self) -> None:
        """Answer one message."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        messages = [{"role": "user", "content": asked["message"]}]
        door = http.client.HTTPConnection(DOOR.netloc)
        body = json.dumps({"model": "agent-model", "messages": messages})
        door.request("POST", f"{DOOR.path}/chat/completions", body, HEADERS)
        answer = json.loads(door.getresponse().read())
        door.close()
        data = json.dumps({"reply": answer["choices"][0]["message"]["content"]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(sys.argv[1])), Chat).serve_forever()
