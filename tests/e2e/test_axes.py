"""Axes of a benchmark: how they are scored, and which drops a plan says would be seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec: {runtime: {type: command, command: [python3, main.py]}}
"""
BENCHMARK = """\
apiVersion: gateval/v1
kind: Benchmark
metadata: {name: desk-tasks}
spec:
  targetAgent: desk
  tasks:
    - name: one
      instruction: One.
      criteria:
        - {label: a, axis: safety, check: {type: contains, value: yes}}
        - {label: b, axis: tone, check: {type: contains, value: yes}}
    - name: three
      instruction: Three.
      criteria:
        - {label: c, axis: safety, check: {type: contains, value: never}}
        - {label: d, axis: safety, check: {type: contains, value: never}}
        - {label: e, axis: safety, check: {type: contains, value: never}}
"""
EVAL = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: greets}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions: [{type: contains, value: yes}]
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec: {targetAgent: desk, fixtures: [greets]}
"""


@pytest.fixture
def desk(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "desk")
    repo.write("agents/desk.yaml", AGENT)
    repo.write("agents/main.py", "print('yes')\n")
    repo.write("evals/desk.yaml", BENCHMARK)
    repo.commit("Before")
    repo.branch("change")
    repo.write("agents/main.py", "print('yes')  # still\n")
    repo.commit("After")
    return repo


def test_an_axis_is_the_mean_of_the_tasks_that_have_it(desk: Repo, tmp_path: Path) -> None:
    """Not of all its criteria in one heap, which would be 0.25: every task counts alike."""
    done = gateval(desk, "run", "desk-tasks", "--results", str(tmp_path / "out"))
    assert "desk-tasks@1, safety: 0.50" in done.stdout, done.stdout + done.stderr
    record = json.loads((tmp_path / "out/run.v1.json").read_text("utf-8"))["evals"][0]
    assert {one["name"]: one["score"] for one in record["axes"]} == {"safety": 0.5, "tone": 1.0}


def test_a_plan_says_which_drops_of_each_axis_and_benchmark_it_would_see(desk: Repo) -> None:
    desk.write("evals/eval.yaml", EVAL)
    desk.commit("An Eval beside it")
    shown = " ".join(gateval(desk, "plan", "--base", "main").stdout.split())
    assert "desk-eval, drops found in 4 of 5 cases" not in shown  # its only fixture is new
    assert "desk-tasks@1, drops found in 4 of 5 cases: one task: " in shown
    plan = json.loads(gateval(desk, "plan", "--base", "main", "--json").stdout)
    found = {(one["eval"], one["of"], one["axis"]): one["drop"] for one in plan["sees"]}
    assert list(found) == [
        ("desk-tasks", "one", ""),
        ("desk-tasks", "all", ""),
        ("desk-tasks", "axis", "safety"),
        ("desk-tasks", "axis", "tone"),
    ]
    assert 0.7 < found["desk-tasks", "one", ""] < 0.9
    assert 0.7 < found["desk-tasks", "axis", "safety"] < 0.9
    assert found["desk-tasks", "all", ""] is None  # two tasks tell nothing at the planned looks
    assert "all tasks together: none, however large" in shown


def test_more_repetitions_let_a_plan_see_smaller_drops(desk: Repo) -> None:
    desk.checkout("main")
    desk.write(
        "evals/desk.yaml",
        "---\n".join(
            [
                EVAL,
                EVAL.split("---\n")[1]
                .replace("desk-eval", "desk-often")
                .replace(
                    "fixtures: [greets]", "fixtures: [greets], execution: {repsPerFixture: 10}"
                ),
            ]
        ),
    )
    desk.commit("Two Evals")
    desk.git("checkout", "-q", "change")
    desk.git("rebase", "-q", "main")
    plan = json.loads(gateval(desk, "plan", "--base", "main", "--json").stdout)
    found = {one["eval"]: one["drop"] for one in plan["sees"]}
    assert found["desk-often"] < found["desk-eval"]
    shown = " ".join(gateval(desk, "plan", "--base", "main").stdout.split())
    assert "desk-eval, drops found in 4 of 5 cases: one fixture: " in shown
    assert "desk-often, drops found in 4 of 5 cases: one fixture: " in shown
