"""Lifecycle: created, started, completed, and what is cancelled."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import pytest
from junitparser import JUnitXml

from gateval.domain.results.results import BenchmarkRun, Results, RunStatus, TaskPhase, run_of
from gateval.domain.trials.trial import Trial
from tests.compat.rows import states
from tests.helpers import stored
from tests.helpers.benchmarks import bench, ran
from tests.helpers.command import candidate_processes, gateval, start_gateval
from tests.helpers.repo import Repo
from tests.helpers.tiers import some_always

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec:
  runtime: {type: command, command: [python3, agent.py]}
"""

PROGRAM = """\
import json, sys, time
time.sleep(float(json.load(sys.stdin)["prompt"]))
print("Hello")
"""

TELLS = """\
import json, sys, time
began = time.time()
time.sleep(float(json.load(sys.stdin)["prompt"]))
print("Hello", began, time.time())
"""

MANY = 10


def tasks(*seconds: float, more: str = "") -> str:
    return "tasks:\n" + "".join(
        f"""\
  - name: t{number}
    instruction: "{one}"
    {more}
    criteria: [{{label: greets, check: {{type: contains, value: Hello}}}}]
"""
        for number, one in enumerate(seconds)
    )


def shop(path: Path, *seconds: float, more: str = "", spec: str = "") -> Repo:
    """A benchmark whose task sleeps as long as its instruction says."""
    made = bench(path, tasks(*seconds, more=more), spec)
    made.write("agents/support.yaml", AGENT)
    made.write("agents/agent.py", PROGRAM)
    made.commit("A program")
    return made


def run_in(folder: Path) -> BenchmarkRun:
    results = Results.model_validate_json((folder / "results.v1.json").read_bytes())
    return run_of(results, results.plan.evals[0])


@states("A benchmark run is a single execution of a benchmark: the agent does each task in a "
        "playground")  # fmt: skip
@states("The agent starts each task with a call of an API, and completes it with another",
        differs="the gate starts the agent with the task, and its answer completes it: "
        "no agent needs to know of benchmarks")  # fmt: skip
@states("A run is created with its tasks in the phase created; a task is started; the run is "
        "completed when all its tasks are")  # fmt: skip
@states("Only one task may be started at a time in a run")
@states("A playground is provisioned when the run is created",
        differs="each run of a task has a fresh one of its own, made when it starts: "
        "what a task leaves cannot help the next")  # fmt: skip
def test_a_run_is_completed_task_by_task(tmp_path: Path) -> None:
    made = shop(tmp_path / "shop", 0.2, 0.2, 0.2)
    folder = made.path / ".gateval" / "results" / "20260101-000000-aaaa"
    done = gateval(made, "run", "desk", "--results", str(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    run = run_in(folder)
    assert (run.status, run.score, run.verdict) == (RunStatus.COMPLETED, 1.0, "pass")
    assert {one.phase for one in run.tasks} == {TaskPhase.COMPLETED}
    trials = stored.trials(folder)
    assert [one["key"]["fixture"] for one in trials] == ["desk.t0", "desk.t1", "desk.t2"]
    shown = json.loads(gateval(made, "get", "benchmarks", "desk", "-o", "json").stdout)
    assert (shown["kind"], shown["version"], shown["status"], shown["verdict"]) == (
        "Benchmark", "2", "completed", "pass",
    )  # fmt: skip
    assert [one["status"] for one in shown["fixtureResults"]] == ["completed"] * 3


def test_names_with_dots_stay_whole(tmp_path: Path) -> None:
    made = shop(tmp_path / "shop", 0.0)
    text = (made.path / "bench/desk.yaml").read_text()
    text = text.replace("name: desk}", "name: desk.v2}").replace("name: t0", "name: a.b")
    made.write("bench/desk.yaml", text)
    made.commit("Dots")
    results = ran(made, name="desk.v2")
    assert [one.task for one in run_of(results, results.plan.evals[0]).tasks] == ["a.b"]


def test_the_target_branchs_version_of_a_task_waits_for_its_turn(tmp_path: Path) -> None:
    made = shop(tmp_path / "shop", 0.3, 0.3)
    made.write("agents/agent.py", TELLS)
    made.commit("Tell when")
    made.branch("edit")
    manifest = (made.path / "bench/desk.yaml").read_text()
    made.write("bench/desk.yaml", manifest.replace("value: Hello", "value: Hell"))
    made.write("agents/agent.py", TELLS + "# edited\n")
    made.commit("Ask for less")
    done = gateval(made, "check", "--base", "change", "--results", str(made.path / "out"))
    assert done.returncode in {0, 1, 3}, done.stderr
    results = Results.model_validate_json((made.path / "out/results.v1.json").read_bytes())
    assert {one.key.eval for one in results.trials} > {"desk"}
    spans = sorted([*map(float, (one.output or "").split()[1:])] for one in results.trials)
    assert all(late[0] >= early[1] for early, late in pairwise(spans)), spans


def test_concurrency_lets_tasks_run_side_by_side(tmp_path: Path) -> None:
    made = shop(tmp_path / "shop", 1.0, 1.0, 1.0, spec="concurrency: 3\n")
    made.write("agents/agent.py", TELLS)
    made.commit("Tell when")
    spans = sorted([*map(float, (one.output or "").split()[1:])] for one in ran(made).trials)
    assert any(late[0] < early[1] for early, late in pairwise(spans)), spans


@states("Statuses of a task: active, completed, cancelled, failed, timed_out")
def test_a_task_that_is_late_is_timed_out_and_a_crash_is_a_fail(tmp_path: Path) -> None:
    made = shop(tmp_path / "shop", 0.0, 30.0, more="timeoutSeconds: 2")
    done = gateval(made, "run", "desk", "--results", str(made.path / "out"))
    run = run_in(made.path / "out")
    assert [(one.status, one.score) for one in run.tasks] == [("completed", 1.0), ("timed_out", 0)]
    assert (run.status, run.score, run.verdict) == ("completed", 0.5, "partial")
    assert "desk@2: completed; 2 tasks: 1 pass, 1 fail, 1 timed out" in done.stdout
    assert "raise `timeoutSeconds` of the task" in done.stdout


def test_a_run_over_its_time_is_timed_out_and_keeps_what_was_done(tmp_path: Path) -> None:
    made = shop(tmp_path / "shop", 0.0, 30.0)
    done = gateval(made, "run", "desk", "--max-minutes", "0.1", "--results", str(made.path / "out"))
    run = run_in(made.path / "out")
    assert (run.status, run.completed, run.verdict) == ("timed_out", 1, None)
    assert (
        "desk@2: timed out; 1 of 2 tasks completed: 1 pass; what was completed is kept"
        in " ".join(done.stdout.split())
    )


def begun(made: Repo, folder: Path, *, after: int) -> subprocess.Popen[str]:
    """Start the benchmark and wait until so many tasks are stored and the next one runs."""
    run = start_gateval(made, "run", "desk", "--results", str(folder))
    until = time.monotonic() + 60
    while time.monotonic() < until:
        known = len(stored.trials(folder))
        if known > after and (known >= MANY or candidate_processes(made.path.parent)):
            return run
        time.sleep(0.01)
    raise AssertionError(f"the run never got that far: {run.communicate(timeout=5)}")


@pytest.mark.parametrize("moment", some_always(range(MANY), MANY))
@states("A run can be cancelled; results of completed tasks are retained")
@states("A run is cancelled by a call of an API",
        differs="by Ctrl-C, SIGTERM or the workflow's cancel: the run is a process")  # fmt: skip
def test_killed_at_any_moment_every_completed_task_is_in_the_results(
    tmp_path: Path, moment: int
) -> None:
    made = shop(tmp_path / "shop", *[0.15] * MANY, spec="playground: {folder: world}\n")
    made.write("bench/world/note.txt", "PLAYGROUND\n")
    made.commit("A playground")
    folder = tmp_path / "out"
    run = begun(made, folder, after=min(moment, MANY - 2))
    time.sleep(0.013 * moment)
    before = len(stored.trials(folder))
    if before < MANY - 2:
        grounds = list((tmp_path / "home").glob("gateval-*"))
        assert grounds or run.poll() is not None, "where playgrounds are, while it runs"
    number = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)[moment % 3]
    run.send_signal(number)
    stdout, stderr = run.communicate(timeout=60)
    if number is signal.SIGKILL:
        gone = time.monotonic() + 60
        while candidate_processes(tmp_path) and time.monotonic() < gone:
            time.sleep(0.05)
        stdout = gateval(made, "report", str(folder)).stdout
    elif run.returncode != 130:  # it was done before the signal came
        assert run.returncode == 0, stderr
    results = gateval(made, "report", str(folder), "--format", "results").stdout
    read = map(json.dumps, json.loads(results)["trials"])
    kept = [Trial.model_validate_json(one).model_dump(mode="json") for one in read]
    assert kept == stored.trials(folder)
    assert before <= len(kept) <= MANY
    assert [one["key"]["fixture"] for one in kept] == [f"desk.t{n}" for n in range(len(kept))]
    assert {one["score"] for one in kept} == {1.0}
    assert candidate_processes(tmp_path) == []
    assert list((tmp_path / "home").glob("gateval-*")) == []
    if len(kept) < MANY:
        said = " ".join(stdout.split())
        assert f"; {len(kept)} of {MANY} tasks completed: {len(kept)} pass" in said
        assert "what was completed is kept" in said


@states("Statuses of a run: active, completed, cancelled, failed")
def test_a_cancelled_run_is_told_as_cancelled(tmp_path: Path) -> None:
    made = shop(tmp_path / "shop", 0.0, 20.0, 20.0)
    folder = made.path / ".gateval" / "results" / "20260101-000000-aaaa"
    run = start_gateval(made, "run", "desk", "--results", str(folder))
    until = time.monotonic() + 60
    while not stored.trials(folder) and time.monotonic() < until:
        time.sleep(0.02)
    active = json.loads(gateval(made, "get", "bm", "desk", "-o", "json").stdout)
    run.send_signal(signal.SIGTERM)
    stdout, stderr = run.communicate(timeout=60)
    assert run.returncode == 130, stderr
    assert active["status"] == "active"
    assert "desk@2: cancelled; 1 of 3 tasks completed: 1 pass; what was completed is kept" in stdout
    shown = json.loads(gateval(made, "get", "bm", "desk", "-o", "json").stdout)
    assert (shown["status"], shown.get("verdict")) == ("cancelled", None)
    assert "; started, not completed: t1 " in " ".join(stdout.split())
    phases = [one.phase for one in run_in(folder).tasks]
    assert phases == [TaskPhase.COMPLETED, TaskPhase.STARTED, TaskPhase.CREATED]
    tasks = sorted(shown["fixtureResults"], key=lambda one: str(one["name"]))
    assert [one["status"] for one in tasks] == ["completed", "cancelled", "cancelled"]


@states("When a task is completed, each criterion is verified against the final state; that gives a "
        "criterion run with `passed`, `score`, details and evidence, a task score and a verdict")  # fmt: skip
@states("A criterion run holds evidence: of each field its path, what was expected and what was there; of "
        "each phrase whether it was found, and in which turn",
        differs="a criterion is one check, whose reason says what was expected and seen, and whose "
        "steps say where")  # fmt: skip
@states("A task run holds a frozen snapshot of its task",
        differs="the results of a run hold its whole plan, and `report` needs nothing else")  # fmt: skip
def test_each_criterion_is_verified_when_the_task_is_done(tmp_path: Path) -> None:
    made = bench(tmp_path / "shop")
    results = ran(made)
    trial = next(one for one in results.trials if one.key.fixture == "desk.refund")
    found = [(one.status.value, one.score, one.steps) for one in trial.assessments]
    assert found == [("passed", 1.0, (2,)), ("passed", 1.0, (4,)), ("failed", 0.0, ())]
    assert all(one.reason for one in trial.assessments)
    shutil.rmtree(made.path / "bench")
    assert json.loads(
        gateval(made, "report", str(made.path / "out"), "--format", "results").stdout
    ) == json.loads((made.path / "out/results.v1.json").read_text())
    run = run_of(results, results.plan.evals[0])
    assert {one.task: (one.score, one.verdict) for one in run.tasks} == {
        "greet": (1.0, "pass"),
        "refund": (0.8, "partial"),
    }


def test_what_axes_are_called_breaks_no_view(tmp_path: Path) -> None:
    bad = "x]]>\\u0007 | **bold** @everyone <b>"
    task = f"""\
    tasks:
      - name: greet
        instruction: Hello
        criteria:
          - {{label: "{bad}", axis: "{bad}", check: {{type: contains, value: Never}}}}
          - {{label: b, axis: plain, check: {{type: contains, value: Hello}}}}
    """
    made = bench(tmp_path / "shop", task)
    ran(made)
    JUnitXml.fromfile(str(made.path / "out" / "junit.xml"))
    comment = (made.path / "out" / "comment.md").read_text()
    summary = (made.path / "out" / "summary.txt").read_text()
    for text in (comment, summary):
        assert "\a" not in text
    for raw in ("**bold**", "<b>", "@everyone"):
        assert raw not in comment
    assert "| plain | 1.00 |" in comment
