"""The guide on checks of one's own: its example runs, and what it says of the JSON is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.docs.test_guides import GUIDES, block
from tests.helpers.command import gateval
from tests.helpers.repo import Repo

PAGE = GUIDES / "own-checks.md"
REST = """\
---
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  runtime: {type: command, command: [python3, agent.py]}
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec: {targetAgent: desk, fixtures: [orders-are-looked-up]}
"""
SAYS = """\
import json
call = {"type": "tool_call", "tool": "find_order", "arguments": {"order": 10482}}
print(json.dumps({"output": "Order NUMBER is on its way.", "trace": [call]}))
"""


@pytest.mark.parametrize(("number", "code"), [("10482", 0), ("10999", 1)])
def test_the_example_runs(tmp_path: Path, number: str, code: int) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("desk/evals.yaml", block(PAGE, "yaml evals.yaml") + REST)
    repo.write("desk/checks/grounded.py", block(PAGE, "python checks/grounded.py"))
    repo.write("desk/agent.py", SAYS.replace("NUMBER", number))
    repo.commit()
    done = gateval(repo, "run", "desk-eval")
    assert done.returncode == code, done.stdout + done.stderr
    if code:
        assert "saw 0.00: made up: 10999" in " ".join(done.stdout.split())


def test_every_key_that_a_check_is_told_is_on_the_page(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    told = "import json, sys\nprint(json.dumps({'passed': True, 'reason': ' '.join(json.load(sys.stdin))}))"
    fixture = block(PAGE, "yaml evals.yaml").replace(
        '{ type: python, function: "checks/grounded.py::names_an_order" }',
        "{ type: script, command: [python3, checks/told.py] }",
    )
    repo.write("desk/evals.yaml", fixture + REST)
    repo.write("desk/checks/told.py", told)
    repo.write("desk/agent.py", SAYS)
    repo.commit()
    done = gateval(repo, "run", "desk-eval", "--results", str(tmp_path / "out"))
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "out/results.v1.json").read_text())
    reason = results["trials"][0]["assessments"][0]["reason"]
    keys = reason.partition("saw 1.00: ")[2].rstrip(".").split()
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert sorted(keys) == sorted(re.findall(r"\w+", " ".join(rows)))
