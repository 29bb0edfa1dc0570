"""Git's own server side of smart HTTP: one request through `git http-backend`, which speaks CGI.

The steps that are asked for all the time cost less here: what a repository can do for readers is
asked once, and `git upload-pack` and `git receive-pack` get a plain request as the backend hands
it over.
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
    path, query = request["PATH_INFO"], request["QUERY_STRING"]
    end = next((end for end in (_ABILITIES, _READING, _WRITING) if path.endswith(end)), "")
    folder = root / path.removesuffix(end).strip("/")
    protocol = request.get("GIT_PROTOCOL") or request.get("HTTP_GIT_PROTOCOL", "")
    config = folder / "config"
    plain = "HTTP_CONTENT_ENCODING" not in request and config.is_file()
    known = plain and bool(request.get("REMOTE_USER"))  # the backend asks for no more in writers
    told = {**env, **request, "GIT_PROTOCOL": protocol}
    if plain and protocol == "version=2" and end == _READING:
        return _direct("upload-pack", folder, body, told)
    if known and end == _WRITING:
        return _direct("receive-pack", folder, body, told)
    if known and end == _ABILITIES and query == _WRITER:
        return _refs_for_writers(folder, told)
    if plain and protocol == "version=2" and end == _ABILITIES and query == _READER:
        key = config.read_bytes()
        if key not in _ABLE:
            _ABLE[key] = _backend(root, body, request, env)
        return _ABLE[key]._replace(headers=dict(_ABLE[key].headers))
    return _backend(root, body, request, env)


_ABILITIES, _READING, _WRITING = "/info/refs", "/git-upload-pack", "/git-receive-pack"
_READER, _WRITER = "service=git-upload-pack", "service=git-receive-pack"
_ABLE: dict[bytes, Served] = {}
"""What a repository with this configuration can do; the second protocol names no refs there."""


def _direct(command: str, folder: Path, body: bytes, env: Mapping[str, str]) -> Served:
    line = ["git", command, "--stateless-rpc", str(folder)]
    done = subprocess.run(line, input=body, env=env, capture_output=True, check=False)
    return _served(f"application/x-git-{command}-result", done.stdout)


def _refs_for_writers(folder: Path, env: Mapping[str, str]) -> Served:
    line = ["git", "receive-pack", "--http-backend-info-refs", str(folder)]
    done = subprocess.run(line, env=env, capture_output=True, check=True)
    announced = b"001f# service=git-receive-pack\n0000"
    return _served("application/x-git-receive-pack-advertisement", announced + done.stdout)


def _served(kind: str, body: bytes) -> Served:
    return Served(200, {"Content-Type": kind, "Cache-Control": "no-cache"}, body)


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
