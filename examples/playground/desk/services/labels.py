"""Prints labels for parcels: PUT /labels/ORDER prints one, GET says how many there are."""

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

printed = {}


class Labels(BaseHTTPRequestHandler):
    """Counts labels by path."""

    def do_GET(self):
        """Say how many were printed."""
        self.answer(200, f'{{"printed": {printed.get(self.path, 0)}}}')

    def do_PUT(self):
        """Print one."""
        printed[self.path] = printed.get(self.path, 0) + 1
        self.answer(201, "{}")

    def answer(self, status, text):
        """Send JSON."""
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


HTTPServer(("127.0.0.1", int(sys.argv[1])), Labels).serve_forever()
