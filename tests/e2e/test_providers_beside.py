"""Providers that honestly answer on the gate's own machine, or move elsewhere: they are asked."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.e2e.test_upstream_attacks import USERS, forged, ground, root, run, squatting, strict
from tests.helpers.forwarding import HERE, THERE, beside_container
from tests.helpers.isolation import open_python
from tests.helpers.outside import kept_port, provider_outside, told_by
from tests.helpers.providers import provider
from tests.helpers.tiers import some_always
from tests.hostile.ground import as_user

__all__ = ["ground"]

OUTSIDER = 4343
NETWORKS = pytest.mark.skipif(not shutil.which("ip"), reason="takes ip(8)")


@root
@USERS
@pytest.mark.parametrize("who", ["another user", "same user", "root"])
def test_a_provider_beside_the_gate_is_asked(ground: Path, user: int | None, who: str) -> None:
    """LiteLLM or Ollama as a service, as the job's own process, behind an engine's proxy."""
    owner = {"another user": OUTSIDER, "same user": user, "root": None}[who]
    with provider_outside(ground, owner, forged()) as port:
        repo = squatting(ground, port, "::1")
        done, trials = run(repo, f"http://127.0.0.1:{port}/v1", user=user, CI="true")
    assert "I took 0 keys at 1 places" in trials, trials + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr


@root
@USERS
def test_a_provider_of_the_shell_that_became_the_gate_is_asked(
    ground: Path, user: int | None
) -> None:
    """As in an entry point: `ollama serve & exec "$@"`. It is the gate's child then."""
    with kept_port() as port:
        program = ground / "provider.py"
        program.write_text(told_by(port, forged()))
        program.chmod(0o644)
        repo = squatting(ground, port, "::1")
        words = ["timeout", "120", *as_user(user), open_python(), "-I", "-S", str(program)]
        shell = f'{shlex.join(words)} > /dev/null 2>&1 & echo $! > "$0"; exec "$@"'
        within = ("sh", "-c", shell, str(ground / "pid"))
        try:
            done, trials = run(repo, f"http://127.0.0.1:{port}/v1", user=user, within=within)
        finally:
            os.kill(int((ground / "pid").read_text()), signal.SIGTERM)
    assert "I took 0 keys at 1 places" in trials, trials + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr


@root
@NETWORKS
@USERS
def test_a_provider_in_a_container_is_asked(ground: Path, user: int | None) -> None:
    """An engine forwards the port, so that nobody in our tables listens."""
    program = ground / "provider.py"
    program.write_text(told_by(4000, forged(), at="0.0.0.0"))
    repo = squatting(ground, 4000)
    within = beside_container(program, 4000)
    done, trials = run(repo, f"http://{HERE}:4000/v1", user=user, within=within, CI="true")
    assert done.returncode == 0, trials + done.stdout + done.stderr


@root
@NETWORKS
@USERS
@pytest.mark.parametrize("moves", some_always([False, True], 2))
def test_a_remote_provider_whose_address_changes_is_asked_there(
    ground: Path, user: int | None, *, moves: bool
) -> None:
    """The first address answers no more once it has answered."""
    program = ground / "provider.py"
    left = ground / "left"
    text = told_by(4000, forged(), at="0.0.0.0")
    text = text.replace("        self.send_response(", MOVING.format(left=str(left)), 1)
    program.write_text(text if moves else told_by(4000, forged(), at="0.0.0.0"))
    repo = squatting(ground, 4000)

    def follow() -> None:
        until = time.monotonic() + 60
        while moves and not left.exists() and time.monotonic() < until:
            time.sleep(0.05)
        if moves:
            (ground / "hosts").write_text(f"{THERE[1]} provider.test\n")

    following = threading.Thread(target=follow)
    following.start()
    try:
        within = beside_container(program, 9)
        url, named = "http://provider.test:4000/v1", f"{THERE[0]} provider.test\n"
        done, trials = run(repo, url, hosts=named, user=user, within=within)
    finally:
        left.touch()
        following.join()
    assert done.returncode == 0, trials + done.stdout + done.stderr


MOVING = """\
        if self.connection.getsockname()[0] == "10.9.9.2":
            import pathlib
            if pathlib.Path("{left}").exists(): return
            pathlib.Path("{left}").touch()
        self.send_response("""

FREE_PORTS = """\
import json, socket, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Agent(BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        data = json.dumps({{"reply": looked_for()}}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(data)
def looked_for():
    try:
        one = socket.create_server(("127.0.0.1", 0))
        if {way!r} == "lets it go":  # as most helpers do that return a free port
            port = one.getsockname()[1]
            one.close()
            one = socket.create_server(("127.0.0.1", port))
        with one, socket.create_connection(one.getsockname()):
            return "I listen." if {forged} else ""
    except OSError as error:
        return f"I may not: {{error}}"
HTTPServer(("127.0.0.1", int(sys.argv[1])), Agent).serve_forever()
"""


@root
@USERS
@pytest.mark.parametrize("way", ["keeps it", "lets it go"])
def test_an_agent_that_looks_for_a_free_port_finds_one(
    ground: Path, user: int | None, way: str
) -> None:
    """Beside a provider on this machine, whose own port it does not get."""
    with provider(strict) as (server, _):
        repo = squatting(ground, server.port, program=FREE_PORTS, way=way, listed=False)
        done, trials = run(repo, f"http://127.0.0.1:{server.port}/v1", user=user)
    assert "I listen." in trials, trials + done.stdout + done.stderr
    assert "I may not" not in trials
