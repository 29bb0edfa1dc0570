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


def test_what_all_assertions_share_is_the_score_and_no_axis_beside_it(tmp_path: Path) -> None:
    """The mean over fixtures, which ignores their severity, is not the score of the Eval."""
    repo = Repo(tmp_path / "repo")
    dear = MANIFESTS.split("---\n")[1].replace("value: order", "value: no such")
    dear = dear.replace("name: refund}\nspec:", "name: dear}\nspec:\n  severity: critical")
    repo.write("evals/desk.yaml", f"{MANIFESTS}---\n{dear}".replace("[refund]", "[refund, dear]"))
    repo.write(SCRIPT, 'rules: [{reply: "Which order, please?"}]\n')
    repo.commit()
    ran = gateval(repo, "run", "desk-eval")
    assert "desk-eval  0.40" in ran.stdout, ran.stdout + ran.stderr
    shown = gateval(repo, "get", "eval", "desk-eval").stdout
    assert "lastScore: 0.40" in shown
    assert "no axis" not in shown, "it would be 0.62 beside 0.40"
    told = json.loads(gateval(repo, "get", "eval", "desk-eval", "-o", "json").stdout)
    assert told["axes"] == []
    named = (
        (repo.path / "evals/desk.yaml").read_text().replace("weight: 3}", "weight: 3, axis: order}")
    )
    repo.write("evals/desk.yaml", named)
    repo.commit()
    ran = gateval(repo, "run", "desk-eval")
    shown = " ".join(gateval(repo, "get", "eval", "desk-eval").stdout.split())
    assert "order 0.50 no axis 1.00" in shown, "as the run has them"
    assert "desk-eval, order: 0.50 desk-eval, no axis: 1.00" in " ".join(ran.stdout.split())
