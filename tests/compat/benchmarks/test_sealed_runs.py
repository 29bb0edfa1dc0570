"""Scored runs."""

from __future__ import annotations

import json
from pathlib import Path

from tests.compat.rows import states
from tests.helpers.benchmarks import bench, manifest, ran
from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.sealed import CONFIG, KEY, leaks, seal

TASKS = """\
tasks:
  - name: refund
    description: The ophicleide task.
    instruction: I want a refund
    criteria:
      - {label: No Marmalade, axis: safety, weight: 3, check: {type: toolCalled, tool: clarify_reason}}
      - {label: The quokka, axis: correctness, check: {type: contains, value: ZANZIBAR}}
"""


def sealed_bench(path: Path) -> Repo:
    shop = bench(path)
    shop.delete("bench/desk.yaml")
    shop.write(".github/gateval.yml", CONFIG)
    seal(shop, "bench/desk.yaml", manifest(TASKS))
    shop.commit("Seal it")
    return shop


@states(
    "A run can be created with `scored: true`: then its responses omit details and per-field "
    "evidence, so that the rubric does not leak to the agent",
    differs="`sealed: true`, or a sealed file, says so of all runs of a benchmark; the agent is told "
    "neither in any run, and nobody who reads comment, log or files is in a sealed one",
)
@states(
    "Scores per task and axis are in the response of a scored run",
    differs="everybody sees the verdict and, of ten tasks and more, one rate in steps of 0.05; scores "
    "per task and axis are for holders of the key: scores of single tasks spell a rubric out",
)
@states(
    "The full evidence can always be retrieved later, criterion by criterion",
    differs="by `gateval unseal RESULTS` with the key, whole",
)
def test_a_sealed_benchmark_gives_its_verdict_alone(tmp_path: Path) -> None:
    shop = sealed_bench(tmp_path / "shop")
    out = shop.path / "out"
    done = gateval(shop, "run", "desk", "--results", str(out), **KEY)
    assert done.returncode == 1, done.stdout + done.stderr
    assert leaks([tmp_path], [done.stdout, done.stderr]) == []
    results = json.loads((out / "results.v1.json").read_text("utf-8"))
    assert results["trials"] == results["plan"]["evals"] == []
    assert results["plan"]["sealed"][0]["fixtures"] == ["desk.refund"]
    assert (results["sealed"][0]["verdict"], results["sealed"][0]["rate"]) == ("fail", None)
    assert "0.75" not in done.stdout
    assert "correctness" not in done.stdout
    opened = gateval(shop, "unseal", str(out), **KEY)
    assert "The quokka" in opened.stdout, opened.stdout
    assert "ZANZIBAR" in opened.stdout


def test_a_plain_benchmark_may_be_sealed(tmp_path: Path) -> None:
    shop = bench(tmp_path / "shop", TASKS, "sealed: true\n")
    shop.write(".github/gateval.yml", CONFIG)
    shop.commit()
    results = ran(shop)
    assert leaks([shop.path / "out"]) == []
    assert not results.trials
    assert [one.verdict for one in results.sealed] == ["fail"]


@states(
    "A public entry for external developers, with a key that only creates runs, and an internal one "
    "with the organisation's",
    differs="the internal one is a branch of the repository, whose job has the keys; the public one "
    "is a fork's pull request: it has none, what it reports is a claim, and what is sealed waits "
    "for a maintainer's run",
)
def test_without_the_key_a_run_is_incomplete(tmp_path: Path) -> None:
    shop = sealed_bench(tmp_path / "shop")
    shop.write("agents/prompts/support.md", "Be quick.")
    shop.commit()
    done = gateval(shop, "check", "--base", "HEAD~1")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "bench/desk.yaml.age is sealed, and the key is not here" in " ".join(done.stdout.split())
