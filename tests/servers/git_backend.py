"""Git's own server side of smart HTTP: one request through `git http-backend`, which speaks CGI.

Its two steps that readers ask for all the time cost less here: what a repository can do is asked
once, and `git upload-pack` gets a plain request as the backend hands it over.
https://git-scm.com/docs/git-http-backend, https://git-scm.com/docs/gitprotocol-http
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Served(NamedTuple):
    """What git answered."""

    status: int
    headers: dict[str, str]
    body: bytes


def serve(root: Path, body: bytes, request: Mapping[str, str], env: Mapping[str, str]) -> Served:
    """Have git answer for the repositories below `root`.

    `request` are the CGI variables of the request, `env` is the environment git works in.
    """
    path, method = request["PATH_INFO"], request["REQUEST_METHOD"]
    folder = root / path.removesuffix(_ABILITIES).removesuffix(_READING).strip("/")
    protocol = request.get("GIT_PROTOCOL") or request.get("HTTP_GIT_PROTOCOL", "")
    config = folder / "config"
    plain = protocol == "version=2" and "HTTP_CONTENT_ENCODING" not in request and config.is_file()
    if plain and method == "POST" and path.endswith(_READING):
        return _upload_pack(folder, body, {**env, "GIT_PROTOCOL": protocol})
    if plain and path.endswith(_ABILITIES) and request["QUERY_STRING"] == _READER:
        key = config.read_bytes()
        if key not in _ABLE:
            _ABLE[key] = _backend(root, body, request, env)
        return _ABLE[key]._replace(headers=dict(_ABLE[key].headers))
    return _backend(root, body, request, env)


_ABILITIES, _READING = "/info/refs", "/git-upload-pack"
_READER = "service=git-upload-pack"
_ABLE: dict[bytes, Served] = {}
"""What a repository with this configuration can do; the second protocol names no refs there."""


def _upload_pack(folder: Path, body: bytes, env: Mapping[str, str]) -> Served:
    line = ["git", "upload-pack", "--stateless-rpc", str(folder)]
    done = subprocess.run(line, input=body, env=env, capture_output=True, check=False)
    kind = "application/x-git-upload-pack-result"
    return Served(200, {"Content-Type": kind, "Cache-Control": "no-cache"}, done.stdout)


def _backend(root: Path, body: bytes, request: Mapping[str, str], env: Mapping[str, str]) -> Served:
    given = {
        "GIT_PROJECT_ROOT": str(root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "CONTENT_LENGTH": str(len(body)),
    }
    done = subprocess.run(
        ["git", "http-backend"],
        input=body,
        env={**env, **given, **request},
        capture_output=True,
        check=False,  # it exits with 1 where it refuses, and says so in its answer
    )
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
    status = int(headers.pop("Status", "200 OK").split(" ")[0])
    return Served(status, headers, content)
