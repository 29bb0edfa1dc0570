"""Experiments and benchmarks are shown in the words of their documents."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.benchmarks import bench
from tests.helpers.command import gateval
from tests.helpers.experiments import TASK, lab


def test_an_experiment_has_rows_and_asks_for_no_score(tmp_path: Path) -> None:
    repo = lab(tmp_path / "repo")
    assert (
        "1 Agent, 1 Experiment, 2 rows, 0 calibrations: valid" in gateval(repo, "validate").stdout
    )
    shown = gateval(repo, "run", "uppercase-agent", "--results", str(tmp_path / "out")).stdout
    assert "Gateval: pass \N{EM DASH} 1 Experiment measured, which asks for no score\n" in shown
    head, line = (
        one.split() for one in shown.splitlines() if "uppercase-agent  " in one or "Agent  " in one
    )
    assert [head[1], head[-2], line[-3]] == ["Experiment", "Rows", "none"]
    assert "passing: 2 rows" in shown
    page = gateval(repo, "show", str(tmp_path / "out")).stdout
    assert "uppercase-agent.hello: scored 1.00 (1 run)\n" in page
    comment = (tmp_path / "out" / "comment.md").read_text()
    assert "| Verdict | Δ | Agent | Score | Base | Threshold | Rows |" in comment
    assert "fixture" not in shown + comment


def test_what_fell_is_a_row(tmp_path: Path) -> None:
    repo = lab(tmp_path / "repo")
    repo.branch("next")
    repo.write("lab/task.py", TASK.replace("text.upper()", "text"))
    repo.commit("No longer shouts")
    plan = gateval(repo, "plan", "--base", "main").stdout
    assert plan.partition("Experiment  ")[2].split()[:2] == ["Agent", "Rows"], plan
    assert "a drop in one row is found in 4 of 5 cases if its score falls" in plan
    shown = gateval(repo, "check", "--base", "main").stdout
    assert "hello and uppercase-agent.world score lower than before" in shown
    assert "fixture'" not in shown
    assert "passed" not in shown  # rows have scores, no passes


def test_a_benchmark_has_tasks(tmp_path: Path) -> None:
    shop = bench(tmp_path / "shop")
    shown = gateval(shop, "run", "desk", "--results", str(tmp_path / "out")).stdout
    assert "1 Benchmark passes" in shown
    assert "Tasks" in shown
    assert "| Agent | Benchmark | Score |" in (tmp_path / "out" / "comment.md").read_text()
    both = gateval(shop, "validate").stdout
    assert "1 Benchmark, 2 tasks" in both, both


def test_rows_that_were_not_measured_are_rows(tmp_path: Path) -> None:
    repo = lab(tmp_path / "repo", **{"task.py": "def shout(text):\n    return None\n"})
    shown = gateval(repo, "run", "uppercase-agent", "--results", str(tmp_path / "out")).stdout
    assert "Rows: uppercase-agent/uppercase-agent.hello, " in shown
    comment = (tmp_path / "out" / "comment.md").read_text()
    assert " Rows: uppercase-agent/uppercase-agent.hello, " in comment


def test_two_runs_are_compared_by_row_and_scorer(tmp_path: Path) -> None:
    repo = lab(tmp_path / "repo")
    folders = [str(tmp_path / name) for name in ("one", "two")]
    gateval(repo, "run", "uppercase-agent", "--results", folders[0])
    repo.write("lab/task.py", TASK.replace("text.upper()", "text.upper() * (text < 'j')"))
    gateval(repo, "run", "uppercase-agent", "--results", folders[1])
    shown = gateval(repo, "compare", *folders).stdout
    lines = [line.split()[0] for line in shown.splitlines() if line.strip()]
    assert lines[1:4] == ["one:", "two:", "ROW"], shown
    assert {"SCORER", "ROW:"} <= set(lines), shown
    assert "all rows together: P" in shown
    assert "TASK" not in shown
