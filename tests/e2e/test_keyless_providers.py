"""A provider on this machine that asks for no key takes orders from whoever reaches it, as Ollama does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.test_loopback_attacks import OUTSIDER
from tests.e2e.test_upstream_attacks import (
    NAMED,
    USERS,
    forged,
    ground,
    root,
    run,
    squatting,
    verdict,
)
from tests.helpers.command import gateval
from tests.helpers.isolation import held_here, open_python
from tests.helpers.outside import free_port, running
from tests.helpers.repo import Repo
from tests.hostile.ground import as_user

__all__ = ["ground"]

OBEYS = """\
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
says = [{strict!r}]
class Provider(BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/api/create": says[0] = body.decode()
        data = says[0].encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
ThreadingHTTPServer(("127.0.0.1", {port}), Provider).serve_forever()
"""
"""Whoever makes a model anew under the judge's name says how it judges."""

ORDERS = """\
import json, sys, urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
class Agent(BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        data = json.dumps({{"reply": f"I took an order: {{ordered()}}."}}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(data)
def ordered():
    order = json.dumps({forged}).encode()
    try:
        urllib.request.urlopen("http://127.0.0.1:{port}/api/create", order, timeout=5).close()
        return True
    except OSError:
        return False
HTTPServer(("127.0.0.1", int(sys.argv[1])), Agent).serve_forever()
"""


@root
@USERS
@pytest.mark.parametrize("egress", ["gateway", "open"])
def test_only_a_limit_on_egress_keeps_an_agent_from_a_judge_without_a_key(
    ground: Path, user: int | None, egress: str
) -> None:
    """docs/security.md says so: with `open` it gives whole verdicts."""
    held_here()
    port, strict = free_port(), json.loads(json.dumps(forged()))
    strict["choices"][0]["message"]["content"] = verdict(0.0).replace("I took", "I took an")
    program = ground / "provider.py"
    program.write_text(OBEYS.format(strict=json.dumps(strict), port=port))
    program.chmod(0o644)
    repo = squatting(ground, port, program=ORDERS, listed=False)
    repo.write(".github/gateval.yml", f"policy: {{egress: {egress}}}\n")
    repo.commit()
    with running([*as_user(OUTSIDER), open_python(), "-I", "-S", str(program)], port):
        done, trials = run(repo, f"http://127.0.0.1:{port}/v1", user=user)
    forges = egress == "open"
    assert f"I took an order: {forges}." in trials, trials + done.stderr
    assert done.returncode == (0 if forges else 1), done.stdout + done.stderr


@pytest.mark.parametrize("egress", ["gateway", "open", "[443]", "[443, 11434]"])
@pytest.mark.parametrize("key", ["", "a-key-of-ollama"])
def test_doctor_tells_of_a_provider_that_asks_for_no_key(
    tmp_path: Path, egress: str, key: str
) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write(".github/gateval.yml", f"policy: {{egress: {egress}}}\n")
    repo.commit()
    address = {"OLLAMA_BASE_URL": "http://127.0.0.1:11434/v1"}
    done = gateval(repo, "doctor", **address, **({"OLLAMA_API_KEY": key} if key else {}))
    told = "ollama asks for no key: an agent that reaches the server" in " ".join(
        done.stdout.split()
    )
    assert told is (egress in {"open", "[443, 11434]"} and not key), done.stdout


@pytest.mark.parametrize("model", ["ollama/llama", "openai/gpt-test"])
def test_init_proposes_to_keep_agents_from_such_a_server(tmp_path: Path, model: str) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("agent.yaml", NAMED.format(model=model))
    repo.commit()
    assert gateval(repo, "init", "--yes").returncode == 0
    config = repo.path / ".github/gateval.yml"
    proposed = "  # egress: gateway # keeps agents from a server of ollama that asks for no key"
    assert (proposed in config.read_text()) is (model == "ollama/llama")
    config.write_text(config.read_text().replace("# egress", "egress"))
    assert "gateval.yml" not in gateval(repo, "validate").stdout
