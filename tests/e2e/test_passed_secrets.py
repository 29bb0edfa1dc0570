"""What a candidate is given on purpose, and says: shown nowhere if its name calls it a secret."""

from __future__ import annotations

from pathlib import Path

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
kind: EvalFixture
metadata: {name: when, labels: {agent: post}}
spec:
  input: {type: prompt, payload: {prompt: When?}}
  assertions: [{type: contains, value: nobody says this}]
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: post-eval}
spec:
  targetAgent: post
  fixtureSelector: {matchLabels: {agent: post}}
"""
AGENT = """\
import os
print("It is on its way:", *(os.environ[name] for name in ("POST_TOKEN", "POST_DB", "POST_URL")))
"""
PASSED = {
    "POST_TOKEN": "tok-4711-0815-sesame",
    "POST_DB": "postgres://post:open-sesame-0815@db.example/post",
    "POST_URL": "https://post.example/api",
}
CONFIG = f"policy: {{candidateEnv: [{', '.join(PASSED)}]}}\n"


def test_a_secret_that_a_candidate_may_see_is_stored_and_shown_nowhere(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("agents/manifests.yaml", MANIFESTS)
    repo.write("agents/agent.py", AGENT)
    repo.write(".github/gateval.yml", CONFIG)
    repo.commit()

    done = gateval(repo, "run", "post-eval", "--results", str(tmp_path / "out"), **PASSED)

    assert done.returncode == 1, done.stderr
    written = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    shown = {**written, "output": done.stdout + done.stderr}
    for secret in (PASSED["POST_TOKEN"], PASSED["POST_DB"], "open-sesame-0815"):
        assert [name for name, text in shown.items() if secret in text] == []
    assert "on its way: [secret removed] [secret removed] https" in written["results.v1.json"]
    assert PASSED["POST_URL"] in written["results.v1.json"]
