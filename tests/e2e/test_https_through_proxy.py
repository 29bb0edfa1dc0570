"""A provider by HTTPS behind a proxy of this machine: no candidate is that proxy, and hears its password."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.e2e.test_loopback_attacks import OUTSIDER, PROGRAM, port
from tests.e2e.test_upstream_attacks import BOTH, USERS, ground, root, run, said, squatting, verdict
from tests.helpers.certificates import self_signed
from tests.helpers.isolation import open_python
from tests.helpers.outside import free_port, running
from tests.helpers.providers import provider
from tests.hostile.ground import as_user
from tests.servers.model_server import reply
from tests.servers.tls_front import TlsFront

__all__ = ["ground", "port"]

AWAY = "provider.invalid"
"""Nobody can resolve it but the proxy."""

TUNNEL = """\
import socket, threading
def pass_on(one, other):
    try:
        while data := one.recv(65536): other.sendall(data)
        other.shutdown(socket.SHUT_WR)
    except OSError: pass
def serve(line):
    asked = b""
    while b"\\r\\n\\r\\n" not in asked: asked += line.recv(65536)
    if not asked.startswith(b"CONNECT {away}:443 ") or b"Proxy-Authorization: " not in asked:
        return line.close()
    there = socket.create_connection(("127.0.0.1", {to}))
    line.sendall(b"HTTP/1.1 200 Connection established\\r\\n\\r\\n")
    threading.Thread(target=pass_on, args=(there, line), daemon=True).start()
    pass_on(line, there)
door = socket.create_server(("127.0.0.1", {port}))
while True:
    threading.Thread(target=serve, args=(door.accept()[0],), daemon=True).start()
"""


@contextmanager
def tunnel(ground: Path, to: int) -> Iterator[int]:
    """A proxy that is nobody's candidate and tunnels to a port of this machine; its own port."""
    at = free_port()
    program = ground / "tunnel.py"
    program.write_text(TUNNEL.format(away=AWAY, to=to, port=at))
    program.chmod(0o644)
    with running([*as_user(OUTSIDER), open_python(), "-I", "-S", str(program)], at):
        yield at


def behind(host: str, port: int, certificate: Path) -> dict[str, Any]:
    """What the gate's environment says of the proxy."""
    return {
        "HTTPS_PROXY": f"http://me:a-password-of-mine@{host}:{port}",
        "GATEVAL_CA_FILE": certificate.read_text(),
    }


@root
@USERS
def test_a_candidate_is_no_proxy_for_https(ground: Path, user: int | None, port: int) -> None:
    certificate = self_signed(ground, AWAY)
    repo = squatting(ground, port, program=PROGRAM, way="at_once", threads=1)
    env = behind("127.0.0.1", port, certificate)
    done, trials = run(repo, f"https://{AWAY}/v1", user=user, **env)
    assert "I took 0 keys at 1 places" in trials, trials + done.stdout + done.stderr
    assert "I took 1" not in trials
    assert done.returncode == 3, done.stdout + done.stderr
    assert f"openai is not who listens on port {port} of this machine" in said(done)


@root
@USERS
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_proxy_on_this_machine_passes_https_on(ground: Path, user: int | None, host: str) -> None:
    """The control, with a squat on the other address of its name. Only that name is resolved."""
    certificate = self_signed(ground, AWAY)
    with (
        provider(lambda call: reply(call, verdict(1.0))) as (server, _),
        TlsFront(server.port, certificate) as front,
        tunnel(ground, urlsplit(front.url).port or 0) as port,
    ):
        repo = squatting(ground, port, "::1")
        env = behind(host, port, certificate)
        done, trials = run(repo, f"https://{AWAY}/v1", hosts=BOTH, user=user, **env)
    assert "I took 0 keys at 1 places" in trials, trials + done.stdout + done.stderr
    assert "I took 1" not in trials
    assert done.returncode == 0, done.stdout + done.stderr
    assert front.names == {AWAY}
    assert {call.headers["host"] for call in server.calls} == {AWAY}
