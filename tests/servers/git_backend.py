"""Git's own server side of smart HTTP: one request through `git http-backend`, which speaks CGI.

https://git-scm.com/docs/git-http-backend
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
