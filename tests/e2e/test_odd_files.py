"""Files with odd names and odd contents, from the command line to the candidate."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo

MANIFESTS = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: post}
spec:
  runtime: {type: command, command: [python3, agent.py]}
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: where, labels: {agent: post}}
spec:
  input: {type: prompt, payload: {prompt: Where is it?}}
  assertions: [{type: contains, value: on its way}]
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: post-eval}
spec:
  targetAgent: post
  fixtureSelector: {matchLabels: {agent: post}}
"""
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 9\n"
FOLDER = "agents/né\nw"
ASCII_ONLY = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.write(f"{FOLDER}/manifests.yaml", MANIFESTS)
    repo.write(f"{FOLDER}/agent.py", 'print("It is on its way.")\n')
    repo.commit()
    return repo


def test_the_locale_changes_no_name(repo: Repo) -> None:
    repo.branch("change")
    repo.write(f"{FOLDER}/agent.py", 'print("It is still on its way.")\n')
    repo.commit()
    planned = gateval(repo, "plan")
    assert r'"agents/n\303\251\nw/agent.py" changed' in planned.stdout
    assert gateval(repo, "plan", **ASCII_ONLY).stdout == planned.stdout
    done = gateval(repo, "check", **ASCII_ONLY)
    assert done.returncode == 0, done.stdout + done.stderr


def test_validate_tells_of_a_pointer_among_the_files_of_a_program(repo: Repo) -> None:
    repo.write(f"{FOLDER}/weights.bin", POINTER)
    done = gateval(repo, "validate")
    assert done.returncode == 2, done.stdout
    assert r'"agents/n\303\251\nw/weights.bin" is a Git LFS pointer.' in done.stdout
    assert r'"agents/n\303\251\nw/manifests.yaml":3:' in done.stdout
    repo.write("elsewhere/weights.bin", POINTER)
    repo.delete(f"{FOLDER}/weights.bin")
    assert gateval(repo, "validate").returncode == 0
