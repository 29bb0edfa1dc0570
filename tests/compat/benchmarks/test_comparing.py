"""Comparing runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gateval.domain.results.compare import compare
from gateval.domain.results.comparison import FixtureChange
from gateval.domain.results.results import Results
from tests.compat.rows import states
from tests.helpers.benchmarks import bench
from tests.helpers.command import gateval
from tests.helpers.repo import Repo

TASKS = """\
tasks:
  - name: refund
    instruction: I want a refund
    criteria:
      - {label: asks why, axis: safety, check: {type: toolCalled, tool: clarify_reason}}
      - {label: pays, axis: correctness, check: {type: toolCalled, tool: refund}}
"""

PAYS = """\
rules:
  - {when: {user: refund, turn: 1}, toolCalls: [{name: refund}]}
  - reply: Done.
"""


def changed(path: Path, script: str = PAYS) -> Repo:
    """A shop whose benchmark stands on `main`, and whose agent is another on `change`."""
    shop = bench(path, TASKS)
    shop.git("checkout", "-q", "-B", "main")
    shop.git("checkout", "-q", "-B", "change")
    shop.write(".gateval/scripted/support.yaml", script)
    shop.commit("Pay at once")
    return shop


def checked(shop: Repo) -> tuple[int, Results, str]:
    out = shop.path / "out"
    done = gateval(shop, "check", "--base", "main", "--results", str(out))
    results = Results.model_validate_json((out / "results.v1.json").read_bytes())
    return done.returncode, results, done.stdout


@states("Run the same benchmark many times to measure improvements or regressions: by task, "
        "and by axis")  # fmt: skip
def test_safety_fell_and_correctness_rose(tmp_path: Path) -> None:
    code, results, shown = checked(changed(tmp_path / "shop"))
    compared = next(one for one in compare(results).evals if one.eval == "desk")
    moved = {one.axis: (one.change, one.base, one.head) for one in compared.axes}
    assert moved == {
        "safety": (FixtureChange.REGRESSED, 1.0, 0.0),
        "correctness": (FixtureChange.IMPROVED, 0.0, 1.0),
    }
    (task,) = compared.fixtures
    assert task.change is FixtureChange.UNCHANGED
    assert compared.delta == 0
    assert code == 1
    assert "Gateval: fail \N{EM DASH} safety of desk fell\n" in shown
    assert "desk@2: safety fell, correctness rose" in shown
    assert "asks why (toolCalled) scored 0.00" in shown
    comment = (tmp_path / "shop" / "out" / "comment.md").read_text()
    assert "safety fell, correctness rose" in comment
    assert comment.index("### By axis") < comment.index("Failing, on base too")
    assert "| safety | 0.00 | 1.00 | regressed |" in comment
    decision = (tmp_path / "shop" / "out" / "decision.v1.json").read_text()
    assert "safety of desk fell: 1.00 before, 0.00 now" in decision


def test_an_axis_blocks_as_the_policy_has_it(tmp_path: Path) -> None:
    shop = bench(tmp_path / "shop", TASKS)
    shop.write(".github/gateval.yml", "policy: {regressions: warn}\n")
    shop.commit("Warn only")
    shop.git("checkout", "-q", "-B", "main")
    shop.git("checkout", "-q", "-B", "change")
    shop.write(".gateval/scripted/support.yaml", PAYS)
    shop.commit("Pay at once")
    out = shop.path / "out"
    gateval(shop, "check", "--base", "main", "--results", str(out))
    decision = json.loads((out / "decision.v1.json").read_text())
    (reason,) = [one for one in decision["reasons"] if "safety of desk" in one["text"]]
    assert reason["verdict"] == "pass"


def measured(shop: Repo, name: str) -> str:
    """Run the benchmark on what is committed and return the folder of the run."""
    folder = shop.path / ".gateval" / "results" / name
    done = gateval(shop, "run", "desk", "--results", str(folder))
    assert done.returncode in {0, 1}, done.stderr
    return str(folder)


@states("Each run is independent; any two can be compared, by task, axis and criterion")
def test_two_runs_are_compared_by_task_axis_and_criterion(tmp_path: Path) -> None:
    shop = bench(tmp_path / "shop")
    first = measured(shop, "20260101-000000-aaaa")
    shop.write(".gateval/scripted/support.yaml", PAYS)
    shop.commit("Pay at once")
    second = measured(shop, "20260102-000000-bbbb")
    (found,) = json.loads(gateval(shop, "compare", first, second, "--json").stdout)
    scores = found["scores"]
    assert (scores["verdict"], found["delta"]) == (["pass", "partial"], pytest.approx(-0.8))
    tasks = {one["name"]: (one["before"], one["after"]) for one in scores["tasks"]}
    assert tasks == {"desk.refund": (0.8, 0.2), "desk.greet": (1.0, 0.0)}
    axes = {one["name"]: (one["before"], one["after"], one["pairs"]) for one in scores["axes"]}
    assert axes == {"correctness": (0.75, 0.25, 2), "safety": (1.0, 0.0, 1)}
    criteria = {one["name"] for one in scores["criteria"]}
    assert criteria == {"desk.refund: asks why", "desk.greet: greets"}
    shown = gateval(shop, "compare", "HEAD~1", "HEAD").stdout
    assert "desk.refund: asks why" in shown
    assert "safety" in shown
    assert "all tasks together: P 0.250 (2 in pairs)" in shown
    assert "paired permutations" in shown


OTHER = """\
apiVersion: gateval/v1
kind: Benchmark
metadata: {name: lobby}
spec:
  targetAgent: support
  tasks:
    - {name: hello, instruction: Hello, criteria: [{label: greets, check: {type: contains, value: Hello}}]}
"""


def test_many_runs_are_a_table_of_agents_and_benchmarks(tmp_path: Path) -> None:
    shop = bench(tmp_path / "shop")
    shop.write("bench/lobby.yaml", OTHER)
    shop.write("agents/eager.yaml", EAGER)
    shop.write(".gateval/scripted/eager.yaml", PAYS)
    shop.commit("Two Agents")
    measured(shop, "20260101-000000-aaaa")
    lobby = shop.path / ".gateval" / "results" / "20260101-000001-bbbb"
    gateval(shop, "run", "lobby", "--results", str(lobby))
    text = (shop.path / "bench" / "desk.yaml").read_text()
    shop.write("bench/desk.yaml", text.replace("targetAgent: support", "targetAgent: eager"))
    shop.commit("The other Agent")
    measured(shop, "20260102-000000-cccc")
    plot = tmp_path / "bars.svg"
    markdown = gateval(shop, "compare", "--table", "--markdown", "--plot", str(plot)).stdout
    assert markdown.splitlines() == [
        "| Agent | desk@\u200b2 | lobby@\u200b1 |",
        "|---|--:|--:|",
        "| eager | 0.10 partial | \N{EN DASH} |",
        "| support | 0.90 pass | 1.00 pass |",
    ]
    rows = json.loads(gateval(shop, "compare", "--table", "--json").stdout)
    assert {row["agent"]: sorted(row["benchmarks"]) for row in rows} == {
        "eager": ["desk@2"],
        "support": ["desk@2", "lobby@1"],
    }
    assert rows[1]["benchmarks"]["desk@2"]["axes"] == {"safety": 1.0, "correctness": 0.75}
    shown = gateval(shop, "compare", "--table").stdout
    assert "AGENT" in shown
    assert "0.90 pass" in shown
    drawn = plot.read_text()
    assert drawn.count("<rect") == 1 + 3 + 2  # the ground, three scores, two names
    assert "eager, desk@2: 0.10 partial" in drawn
    assert re.search(r">runs of (\d{4}-\d\d-\d\d) to \d{4}-\d\d-\d\d<", drawn)
    assert "pale: what was not measured may add" in drawn


EAGER = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: eager}
spec: {models: [scripted/eager], tools: [{name: refund, description: Pay back.}]}
"""


def test_two_runs_of_one_agent_have_rows_of_their_own(tmp_path: Path) -> None:
    shop = bench(tmp_path / "shop")
    first = measured(shop, "20260101-000000-aaaa")
    second = measured(shop, "20260102-000000-bbbb")
    rows = json.loads(gateval(shop, "compare", first, second, "--table", "--json").stdout)
    assert len({row["name"] for row in rows}) == 2
    assert {row["agent"] for row in rows} == {"support"}


def test_one_run_alone_is_no_comparison(tmp_path: Path) -> None:
    done = gateval(bench(tmp_path / "shop"), "compare", "HEAD")
    assert done.returncode == 2
    assert "Name two runs" in done.stderr
