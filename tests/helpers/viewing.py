"""`gateval view` as a process of its own, and requests to it as a browser or an attacker makes them."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from examples.demo import gate
from tests.helpers.command import environment
from tests.helpers.repo import Repo

ALONE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
"""A view of processes of its own: candidates of tests that run beside this are none of its."""


class Reply(NamedTuple):
    """An answer: its status, headers in lower case, and text."""

    status: int
    headers: dict[str, str]
    text: str


class Viewed:
    """A server that listens. `address` is what it printed, `token` what stands behind the `#`.

    `enter` begins a command whose processes it sees.
    """

    def __init__(self, address: str, enter: tuple[str, ...]) -> None:
        self.enter = enter
        self.address = address
        parts = urlsplit(address)
        self.host = parts.netloc
        self.token = parts.fragment.removeprefix("token=")

    @property
    def root(self) -> str:
        """The address without its token."""
        return f"http://{self.host}/"

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> Reply:
        """Send what is given and nothing else; `_` in a header's name stands for a hyphen."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders(body)
        answer = connection.getresponse()
        told = {name.lower(): value for name, value in answer.getheaders()}
        found = Reply(answer.status, told, answer.read().decode())
        connection.close()
        return found

    def ask(self, path: str, said: Any, **headers: str) -> Reply:
        """Ask as its own page does, but for these headers; an empty one is left out."""
        body = said if isinstance(said, bytes) else json.dumps(said).encode()
        usual = {
            "Host": self.host,
            "Origin": f"http://{self.host}",
            "Authorization": f"Bearer {self.token}",
            "Content_Type": "application/json",
            "Content_Length": str(len(body)),
        }
        told = {name: value for name, value in {**usual, **headers}.items() if value}
        return self.send("POST", path, body, **told)


def _enter(pid: int) -> tuple[str, ...]:
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return "nsenter", "--target", child, "--pid", "--mount"


@contextmanager
def viewing(repo: Repo, *arguments: str, **extra: str) -> Iterator[Viewed]:
    """Start it and give it once it listens; end it as Ctrl-C does, and look for its last words."""
    alone = os.geteuid() == 0 and shutil.which("unshare") is not None
    words = [*(ALONE if alone else ()), *gate(), "view", *arguments]
    with subprocess.Popen(
        words,
        cwd=repo.path,
        env=environment(repo, **extra),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = process.stdout.readline().strip()
        if not address:
            raise AssertionError(process.stderr.read())
        try:
            yield Viewed(address, _enter(process.pid) if alone else ())
        finally:
            process.kill()  # unshare lets nothing else pass
            rest = process.stdout.read() + process.stderr.read()
    assert "Traceback" not in rest, rest
