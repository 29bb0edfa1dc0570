"""Benchmarks, tasks and criteria."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.compat.rows import states
from tests.helpers.benchmarks import bench, manifest, ran, scores
from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import SCRIPT


def plan(path: Path, tasks: str, more: str = "") -> dict[str, Any]:
    done = gateval(bench(path / "shop", tasks, more), "plan", "--json")
    assert done.returncode == 0, done.stderr
    planned: dict[str, Any]
    (planned,) = json.loads(done.stdout)["evals"]
    return planned


WHOLE = """\
tasks:
  - name: refund
    description: Refunds need a reason.
    instruction: I want a refund
    timeoutSeconds: 20
    tags: [money]
    scenario: {trigger: email, input: {order: 12345}}
    entities: {customer: {id: 7}}
    criteria:
      - {label: asks why, axis: safety, weight: 3, check: {type: toolCalled, tool: clarify_reason}}
"""


@states("A benchmark is `slug@version`, with a timeout and a concurrency, 1 by default")
@states("A task has a name, a timeout, tags, an instruction, a scenario with input and trigger, "
        "entities and criteria")  # fmt: skip
@states("A criterion has a label, one typed assertion, a weight (1 by default) and an axis")
def test_what_a_benchmark_is_made_of(tmp_path: Path) -> None:
    planned = plan(tmp_path, WHOLE, "timeoutSeconds: 60\n")
    assert (planned["kind"], planned["name"], planned["version"]) == ("Benchmark", "desk", "2")
    assert planned["execution"]["timeout_seconds"] == 60
    assert planned["execution"]["parallel"] == 1
    (task,) = planned["fixtures"]
    assert (task["name"], task["timeout_seconds"]) == ("desk.refund", 20)
    assert task["labels"] == {"money": "true"}
    assert task["input"]["type"] == "email"
    assert task["input"]["payload"] == {
        "prompt": "I want a refund",
        "order": 12345,
        "entities": {"customer": {"id": 7}},
    }
    (criterion,) = task["assertions"]
    assert (criterion["name"], criterion["weight"], criterion["axis"]) == ("asks why", 3, "safety")


@states("Benchmarks are made with calls of an API, and belong to an organisation",
        differs="a benchmark is a file in git: who may change it is who may merge")  # fmt: skip
@states("A benchmark is visible to its organisation, or published",
        differs="who may read the repository may read it; a sealed one only who holds the key")  # fmt: skip
def test_a_benchmark_is_a_file(tmp_path: Path) -> None:
    shop = bench(tmp_path / "shop")
    assert "valid" in gateval(shop, "validate").stdout
    assert scores(ran(shop)) == {"greet": 1.0, "refund": 0.8}


@states("An assertion of an unknown type fails the criterion, with “unsupported assertion”")
def test_unknown_checks_fail(tmp_path: Path) -> None:
    tasks = """\
    tasks:
      - name: greet
        instruction: Hello
        criteria:
          - {label: greets, check: {type: contains, value: Hello}}
          - {label: portal, check: {type: portal-state-match, assertions: []}}
    """
    shop = bench(tmp_path / "shop", tasks)
    told = gateval(shop, "validate")
    assert told.returncode == 0
    assert (
        'The criterion "portal" of the task "desk.greet" fails, whatever happens: unsupported'
        in (told.stdout + told.stderr)
    )
    assert "whatever happens: unsupported" in gateval(shop, "plan").stdout
    results = ran(shop)
    assert scores(results) == {"greet": 0.5}
    found = results.trials[0].assessments[1]
    assert (found.status, found.score) == ("failed", 0.0)
    assert found.reason.startswith('unsupported: there is no check of type "portal-state-match"')


def test_what_is_sealed_is_not_told_of_unknown_checks_either(tmp_path: Path) -> None:
    tasks = """\
    tasks:
      - name: greet
        instruction: Hello
        criteria: [{label: portalsecret, check: {type: statesecret, path: x}}]
    """
    shop = bench(tmp_path / "shop", tasks, "sealed: true\n")
    for command in (("validate",), ("plan",), ("plan", "--json")):
        done = gateval(shop, *command)
        assert done.returncode == 0, done.stderr
        assert "secret" not in done.stdout + done.stderr
    assert "A criterion of desk@2, which is sealed, cannot hold" in gateval(shop, "plan").stdout


@states("A task without criteria fails")
def test_no_criteria(tmp_path: Path) -> None:
    results = ran(bench(tmp_path / "shop", "tasks: [{name: greet, instruction: Hello}]\n"))
    assert scores(results) == {"greet": 0.0}
    assert results.trials[0].outcome == "fail"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("tasks: []\n", "has `tasks`"),
        ("tasks: [{name: a, instruction: x}, {name: a, instruction: y}]\n", 'two tasks "a"'),
        ("tasks: [{name: a, instruction: x, scenario: {input: {prompt: y}}}]\n", "`instruction`"),
        ("tasks: [{name: a, instruction: x, criteria: [{label: l, check: {}}]}]\n", "`type`"),
        (
            "tasks: [{name: a, instruction: x, criteria: [{label: l, check: {type: contains}}]}]\n",
            '"value" is missing',
        ),
        ("tasks: [{name: a, instruction: x, criterion: []}]\n", "criteria"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, written: str, said: str) -> None:
    shop = bench(tmp_path / "shop")
    shop.write("bench/desk.yaml", manifest(written))
    done = gateval(shop, "validate")
    assert done.returncode == 2
    assert said in done.stdout + done.stderr
    assert "bench/desk.yaml:" in done.stdout + done.stderr


TALK = """\
tasks:
  - name: talk
    instruction: Hello
    turns: [I want a refund]
    criteria:
      - {label: greets, turn: 1, check: {type: transcriptContains, phrases: [How can I help]}}
      - {label: only then, turn: 2, check: {type: transcriptForbids, phrases: [How can I help]}}
      - {label: asks, turn: 2, check: {type: toolCalled, tool: clarify_reason}}
      - {label: not at once, turn: 1, check: {type: toolNotCalled, tool: clarify_reason}}
      - {label: ends, axis: end, check: {type: contains, value: Done}}
      - {label: all, check: {type: transcriptContains, phrases: [How can I help, Done]}}
"""


@states("Phrases of a conversation are looked for by turn")
def test_a_task_may_go_on_for_several_turns(tmp_path: Path) -> None:
    shop = bench(tmp_path / "shop", TALK)
    script = SCRIPT.replace("ask for the reason, turn: 1", "ask for the reason, turn: 2")
    shop.write(".gateval/scripted/support.yaml", script)
    trial = ran(shop).trials[0]
    assert [one.status.value for one in trial.assessments] == ["passed"] * 6, trial
    assert trial.score == 1.0
    shop = bench(tmp_path / "wrong", TALK.replace("turn: 2", "turn: 3"))
    said = gateval(shop, "validate").stdout
    assert "A criterion looks at turn 3, and there are 2 turns" in said
    assert "there are no `turns`" in _without_turns(shop)


def _without_turns(shop: Repo) -> str:
    shop.write("bench/desk.yaml", manifest(TALK.replace("    turns: [I want a refund]\n", "")))
    return gateval(shop, "validate").stdout


def test_two_benchmarks_of_one_name_are_told_as_such(tmp_path: Path) -> None:
    shop = bench(tmp_path / "shop")
    shop.write("bench/other.yaml", manifest().replace('version: "2"', 'version: "3"'))
    said = gateval(shop, "validate").stdout
    assert 'The Benchmark "desk" stands at bench/desk.yaml:3:18 already' in said


def test_an_eval_is_not_scored_as_a_benchmark(tmp_path: Path) -> None:
    shop = bench(tmp_path / "shop")
    shop.write("evals/support-eval.yaml", EVAL)
    done = gateval(shop, "validate")
    assert done.returncode == 2
    assert "is that of `kind: Benchmark`" in done.stdout + done.stderr


EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: support-eval}
spec:
  targetAgent: support
  fixtureSelector: {matchLabels: {agent: support}}
  scoring: {model: benchmark}
"""
