"""Set-ups of people's own checks: what a check needs is installed for it, and for nobody else."""

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
  runtime: {{type: command, command: [{sys.executable}, -c, "print('Hello')"]}}
"""
FIXTURE = f"""\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: asks, labels: {{agent: support}}}}
spec:
  input: {{type: prompt, payload: {{prompt: Hello}}}}
  assertions:
    - type: script
      command: [{sys.executable}, checks/polite.py]
      setup:
        run: [{sys.executable}, checks/install.py]
        inputs: [checks/install.py, words.lock]
        creates: [.tools]
"""
INSTALL = """\
import pathlib
tools = pathlib.Path(".tools")
tools.mkdir()
(tools / "words").write_text(pathlib.Path("words.lock").read_text())
print("installed", sorted(path.name for path in pathlib.Path().iterdir()))
"""
POLITE = """\
import json, pathlib, sys
words = pathlib.Path(".tools/words").read_text().split()
try:
    pathlib.Path(".tools/mine").write_text("x")
    kept = False
except OSError:
    kept = True
output = json.load(sys.stdin)["output"]
print(json.dumps({"passed": kept and output in words, "reason": f"one of {words}"}))
"""


def shop(tmp_path: Path, **files: str) -> Repo:
    """A repository whose check installs its words; the branch `change` is out."""
    repo = Repo(tmp_path / "shop")
    repo.write("agents/support.yaml", AGENT)
    repo.write("evals/asks.yaml", FIXTURE)
    repo.write("evals/eval.yaml", EVAL)
    repo.write("evals/checks/install.py", INSTALL)
    repo.write("evals/checks/polite.py", POLITE)
    repo.write("evals/words.lock", "Hello Hi\n")
    for path, text in files.items():
        repo.write(path, text)
    repo.commit("Begin")
    repo.branch("change")
    return repo


def assessed(repo: Repo, tmp_path: Path) -> dict[str, Any]:
    """The only assessment of the first trial."""
    out = tmp_path / "out"
    ended = gateval(repo, "run", "support-eval", "--results", str(out))
    assert (out / "results.v1.json").exists(), ended.stdout + ended.stderr
    trial, *_ = json.loads((out / "results.v1.json").read_text())["trials"]
    return dict(trial["assessments"][0])


def test_a_check_has_what_its_set_up_made(tmp_path: Path) -> None:
    found = assessed(shop(tmp_path), tmp_path)
    assert found["status"] == "passed", found
    assert "one of ['Hello', 'Hi']" in found["reason"]


def test_another_lock_file_is_another_bar(tmp_path: Path) -> None:
    """The target branch's words are installed as well, and what it asks is not met any more."""
    repo = shop(tmp_path)
    repo.write("agents/support.yaml", AGENT.replace("'Hello'", "'Bye'"))
    repo.write("evals/words.lock", "Bye\n")
    repo.commit("Say goodbye")
    ended = gateval(repo, "check", "--base", "main")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "files of assertion script" in ended.stdout
    assert "saw 0.00: one of ['Hello', 'Hi']" in " ".join(ended.stdout.split())


def test_a_set_up_that_fails_is_no_pass(tmp_path: Path) -> None:
    broken = "raise SystemExit('no such package: polite')"
    found = assessed(shop(tmp_path, **{"evals/checks/install.py": broken}), tmp_path)
    assert (found["status"], found["cause"]) == ("error", "check")
    assert "The set-up ended with exit code 1. It said last: no such package" in found["reason"]


def test_nothing_is_made_outside_of_the_folder(tmp_path: Path) -> None:
    repo = shop(tmp_path, **{"evals/asks.yaml": FIXTURE.replace("[.tools]", "[../../tools]")})
    ended = gateval(repo, "validate")
    assert ended.returncode == 2
    assert "What a set-up creates has to be a name below the folder" in ended.stdout
