"""An Eval of the weighted model, from its YAML to what the terminal and the results say."""

from __future__ import annotations

import json
from pathlib import Path

from tests.helpers.command import gateval
from tests.helpers.repo import Repo

MANIFESTS = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec: {models: [scripted/desk], system: "You help."}
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: refund}
spec:
  input: {type: prompt, payload: {prompt: I want a refund}}
  reference: {outcome: Asks for the order, answer: Which order?}
  assertions:
    - {type: contains, value: order, weight: 3}
    - {type: composite, weight: 1, assertions: [{type: contains, value: "?"}, {type: contains, value: please}]}
    - {type: contains, value: Never, weight: 0}
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec:
  targetAgent: desk
  fixtures: [refund]
  scoring: {model: weighted}
"""
SCRIPT = ".gateval/scripted/desk.yaml"


def test_a_score_that_falls_and_still_passes_is_a_regression(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("evals/desk.yaml", MANIFESTS)
    repo.write(SCRIPT, 'rules: [{reply: "Which order, please?"}]\n')
    repo.commit("Before")
    repo.write(SCRIPT, 'rules: [{reply: "Which order, please."}]\n')
    repo.commit("After")
    out = tmp_path / "out"
    done = gateval(repo, "check", "--base", "HEAD~1", "--results", str(out))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "fail — refund scores lower than before" in done.stdout
    assert "scored 1.00 (2 runs, 2 passed) before, 0.88 now (2 runs, 2 passed)" in done.stdout
    assert "composite scored 0.50" in done.stdout
    assert "failed" not in done.stdout, "2 of 2 passed"
    shown = gateval(repo, "show", str(out), "refund").stdout
    assert "composite scored 0.50" in shown
    assert "failed" not in shown
    assert "scored 0.50" in (out / "comment.md").read_text("utf-8")
    results = json.loads((out / "results.v1.json").read_text("utf-8"))
    assert results["plan"]["evals"][0]["scoring"]["model"] == "weighted"
    scores = {(one["key"]["side"], one["outcome"], one["score"]) for one in results["trials"]}
    assert scores == {("base", "pass", 1.0), ("head", "pass", 0.875)}
    for view in ("summary.md", "junit.xml"):
        found = list(out.rglob(view))
        assert all("refund" in path.read_text("utf-8") for path in found), view
