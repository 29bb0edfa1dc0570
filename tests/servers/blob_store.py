"""The store behind GitHub's artifacts: another host, which takes no token and must see none."""

from __future__ import annotations

import io
import threading
import zipfile
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class BlobStore:
    """Serves what was put into it at addresses of its own. Use it as a context."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.seen: list[Mapping[str, str]] = []
        store = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                store.seen.append(dict(self.headers))
                content = store.blobs.get(self.path)
                self.send_response(200 if content is not None else 404)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def put(self, content: bytes) -> str:
        """Store something and return its address."""
        path = f"/blob/{len(self.blobs)}"
        self.blobs[path] = content
        return f"http://127.0.0.1:{self._server.server_port}{path}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def archive(files: Mapping[str, bytes]) -> bytes:
    """Return these files as a zip archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in files.items():
            target.writestr(name, content)
    return packed.getvalue()
