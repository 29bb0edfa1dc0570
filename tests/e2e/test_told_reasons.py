"""What people are told where a program, a server or a check of theirs fails for a common reason."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import EVAL

AGENT = f"""\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: support}}
spec:
  runtime: {{type: command, command: [{sys.executable}, desk.py]}}
"""
SERVER = AGENT.replace("type: command", "type: http, request: {path: /chat}").replace(
    "desk.py]", 'desk.py, "{port}"]'
)
FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: asks, labels: {agent: support}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions: [{type: contains, value: Hello}]
"""
WRITES = """\
import sqlite3
database = sqlite3.connect("orders.db")
database.execute("create table orders (id)")
print("Hello")
"""
FAILS = """\
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
import traceback
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            {}["order"]
        except KeyError:
            self.send_response(500)
            self.send_header("Content-Length", "0")
            self.end_headers()
            self.wfile.flush()
            traceback.print_exc()
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def shop(tmp_path: Path, agent: str, program: str, fixture: str = FIXTURE) -> Repo:
    """A repository with one program and one fixture."""
    repo = Repo(tmp_path / "shop")
    repo.write("agents/support.yaml", agent)
    repo.write("agents/desk.py", program)
    repo.write("evals/asks.yaml", fixture)
    repo.write("evals/eval.yaml", EVAL)
    repo.commit("Begin")
    return repo


def results(repo: Repo, tmp_path: Path) -> dict[str, Any]:
    """What a run of the Eval gave, and what it printed."""
    out = tmp_path / "out"
    ended = gateval(repo, "run", "support-eval", "--results", str(out))
    assert (out / "results.v1.json").exists(), ended.stdout + ended.stderr
    found = json.loads((out / "results.v1.json").read_text())
    return {**found, "printed": ended.stdout, "code": ended.returncode}


def test_a_database_in_the_working_folder(tmp_path: Path) -> None:
    found = results(shop(tmp_path, AGENT, WRITES), tmp_path)
    reason = found["trials"][0]["reason"]
    assert "what an agent works in is read-only, and its own folders are TMPDIR and HOME" in reason


def test_what_a_server_raised(tmp_path: Path) -> None:
    found = results(shop(tmp_path, SERVER, FAILS), tmp_path)
    reason = found["trials"][0]["reason"]
    assert "with status 500. It printed: KeyError: 'order'." in reason


def test_a_check_without_its_program(tmp_path: Path) -> None:
    check = FIXTURE.replace("{type: contains, value: Hello}", "{type: script, command: [no-such-program]}")  # fmt: skip
    found = results(shop(tmp_path, AGENT, "print('Hello')", check), tmp_path)
    (assessment,) = found["trials"][0]["assessments"]
    assert assessment["status"] == "error"
    assert "`no-such-program` was not found. A check has what this machine has" in assessment["reason"]  # fmt: skip
    assert "runtime.setup" not in assessment["reason"]


def test_a_check_whose_file_is_a_pointer(tmp_path: Path) -> None:
    check = FIXTURE.replace("{type: contains, value: Hello}", "{type: script, command: [sh, checks/polite.sh]}")  # fmt: skip
    repo = shop(tmp_path, AGENT, "print('Hello')", check)
    repo.write("evals/checks/polite.sh", "echo '{\"passed\": true}'\n")
    repo.write(
        "evals/checks/words.csv", "version https://git-lfs.github.com/spec/v1\noid x\nsize 1\n"
    )
    repo.write(".gitattributes", "*.csv filter=lfs\n")
    repo.commit("Check")
    said = "evals/checks/words.csv is a Git LFS pointer. Checks run on git objects"
    assert said in gateval(repo, "validate").stdout
    repo.branch("change")
    repo.write("agents/desk.py", "print('Hello you')")
    repo.commit("Change")
    ended = gateval(repo, "check", "--base", "main")
    assert ended.returncode == 2
    assert said in ended.stderr


def test_an_after_that_failed_stands_in_the_results(tmp_path: Path) -> None:
    agent = AGENT.replace("desk.py]", "desk.py], after: [sh, -c, 'echo no such table; exit 4']")
    found = results(shop(tmp_path, agent, "print('Hello')"), tmp_path)
    assert found["code"] == 0
    (warning,) = found["info"]["warnings"]
    assert warning.startswith("support (head): `after` ended with exit code 4.")
    assert "no such table" in warning
    assert "warning: support (head): `after` ended with exit code 4." in found["printed"]
