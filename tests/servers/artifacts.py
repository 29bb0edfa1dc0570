"""GitHub's service for artifacts, as far as one file takes: Twirp calls, and a place for bytes.

What it asks follows packages/artifact of actions/toolkit (version 7).
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

RUN, JOB = "ce7f54c7-61c7-4aae-887f-30da475f5f1a", "ca395085-040a-526b-2ce8-bdc85f692774"


def runtime_token() -> str:
    """A token as the runner hands it out: what it may do stands in its middle part."""
    told = {"scp": f"Actions.Example Actions.Results:{RUN}:{JOB}"}
    middle = base64.urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip("=")
    return f"e30.{middle}.signature-of-runtime-token"


class ArtifactService:
    """`kept` are finished artifacts by name. `fail` are statuses that the next requests get.

    With `elsewhere`, these lead there.
    """

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.fail: list[int] = []
        self.asked: list[str] = []
        self.elsewhere = ""
        self.url = ""
        self._begun: dict[str, bytes] = {}

    @property
    def environ(self) -> dict[str, str]:
        """What a runner sets for its actions."""
        return {"ACTIONS_RUNTIME_TOKEN": runtime_token(), "ACTIONS_RESULTS_URL": f"{self.url}/x/"}

    def answer(self, path: str, headers: Any, body: bytes) -> tuple[int, dict[str, Any]]:
        """Answer one request."""
        self.asked.append(path)
        if self.fail:
            return self.fail.pop(0), {}
        if path.startswith("/blob/"):
            assert headers["x-ms-blob-type"] == "BlockBlob"
            assert "Authorization" not in headers
            self._begun[path.removeprefix("/blob/").partition("?")[0]] = body
            return 201, {}
        assert headers["Authorization"] == f"Bearer {runtime_token()}"
        asked = json.loads(body)
        assert (asked["workflow_run_backend_id"], asked["workflow_job_run_backend_id"]) == (
            RUN,
            JOB,
        )
        name = asked["name"]
        if path.endswith("/CreateArtifact"):
            kind = (asked["version"], asked.get("mime_type"))
            assert kind == ((7, "text/html") if name.endswith(".html") else (4, None))
            if name in self.kept:
                return 409, {"msg": "an artifact with this name already exists"}
            return 200, {"ok": True, "signed_upload_url": f"{self.url}/blob/{name}?sig=abc"}
        assert path.endswith("/FinalizeArtifact")
        page = self._begun[name]
        assert asked["size"] == str(len(page))
        assert asked["hash"] == f"sha256:{sha256(page).hexdigest()}"
        self.kept[name] = page
        return 200, {"ok": True, "artifact_id": str(700 + len(self.kept))}


@contextmanager
def artifact_service() -> Iterator[ArtifactService]:
    """Serve on a free port of this machine."""
    service = ArtifactService()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, said = service.answer(self.path, self.headers, body)
            told = json.dumps(said).encode()
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", service.elsewhere)
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def do_GET(self) -> None:
            service.asked.append(f"GET {self.path}")
            self.send_error(404)

        def do_PUT(self) -> None:
            self.do_POST()

        def log_message(self, *_words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        service.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield service
        server.shutdown()
