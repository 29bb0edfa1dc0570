"""A run that is stopped from outside: what was finished stays, nothing else does."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gateval.adapters.store import STORE_FOLDER, TrialStore, stored_trials
from tests.helpers import stored
from tests.helpers.command import (
    candidate_processes,
    environment,
    gateval,
    start_gateval,
)
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, EVAL, SCRIPT, build_shop
from tests.helpers.tiers import some_always

SLEEPER = """\
import sys, json, time
question = json.load(sys.stdin)
if "refund" in question["prompt"]:
    time.sleep(90)
print("Hello")
"""


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    """A shop whose Agent is a program that answers one fixture at once and the other never."""
    repo = build_shop(tmp_path / "shop")
    runtime = "  runtime: {type: command, command: [python3, sleeper.py]}\n  tools:"
    repo.write("agents/support.yaml", AGENT.replace("  tools:", runtime))
    repo.write("agents/sleeper.py", SLEEPER)
    repo.write("evals/support-eval.yaml", EVAL + "  execution: {parallel: 4}\n")
    repo.write(".gateval/scripted/support.yaml", SCRIPT)
    repo.commit()
    return repo


def wait_for_trial(run: subprocess.Popen[str], results: Path) -> None:
    """Wait until one trial is stored and a candidate still runs."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and run.poll() is None:
        if stored.trials(results) and candidate_processes(results.parent):
            return
        time.sleep(0.02)
    raise AssertionError(f"the run never got that far: {run.communicate(timeout=5)}")


HALF_GIB = 512 * 2**20


@pytest.mark.drawn("crash")
@pytest.mark.parametrize("crash", [False, True])
def test_a_store_of_any_size_is_read_back(shop: Repo, tmp_path: Path, crash: bool) -> None:
    """By the run that was interrupted, and by `report` after one that was killed."""
    results = tmp_path / "results"
    run = start_gateval(shop, "run", "support-eval", "--results", str(results))
    wait_for_trial(run, results)
    (trial,) = stored_trials(results, stored.OLD_LOG)
    long = trial.replace(detail=("x" * 2**22,))
    with TrialStore(results / STORE_FOLDER) as more:
        for _ in range(HALF_GIB // 2**22):
            more.append(long)
        more.append(trial)
    run.send_signal(signal.SIGKILL if crash else signal.SIGINT)
    stdout, stderr = run.communicate(timeout=120)
    if crash:
        stdout = gateval(shop, "report", str(results)).stdout
    assert "1 of 2 planned runs did not happen" in stdout, stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_and_keeps_what_was_finished(
    shop: Repo, tmp_path: Path, number: signal.Signals
) -> None:
    results = tmp_path / "out"
    run = start_gateval(shop, "run", "support-eval", "--results", str(results))
    wait_for_trial(run, results)
    run.send_signal(number)
    stdout, stderr = run.communicate(timeout=60)
    assert run.returncode == 130, stderr
    assert "interrupted" in stderr
    assert "Traceback" not in stderr
    stored = json.loads((results / "results.v1.json").read_text())
    assert [trial["key"]["fixture"] for trial in stored["trials"]] == ["greets"]
    assert "incomplete" in stdout.lower()
    assert candidate_processes(tmp_path) == []
    assert list((tmp_path / "home").glob("gateval-*")) == []


@pytest.mark.parametrize(
    "command", some_always([("check", "--base", "main"), ("run", "support-eval")], 2)
)
def test_a_run_ends_in_order_when_its_time_is_over(
    shop: Repo, tmp_path: Path, command: tuple[str, ...]
) -> None:
    results = tmp_path / "out"
    began = time.monotonic()
    done = gateval(shop, *command, "--max-minutes", "0.1", "--results", str(results))
    assert time.monotonic() - began < 80
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stdout.startswith("Gateval: incomplete"), done.stdout
    assert "The time of the run was over (0.1 minutes)." in done.stdout
    assert "interrupted" not in done.stderr
    stored = json.loads((results / "results.v1.json").read_text())
    assert "greets" in {trial["key"]["fixture"] for trial in stored["trials"]}
    said = " ".join(done.stdout.split())
    assert said.partition(" head:")[0].endswith("did not happen; its time was over"), said
    cause = "The time of the run was over (0.1 minutes)."
    assert f"planned, but never ran. {cause}" in said
    assert f"no planned repetition ran. {cause}".rstrip(".") in (results / "junit.xml").read_text()
    assert gateval(shop, "report", str(results)).stdout == done.stdout
    assert candidate_processes(tmp_path) == []
    assert list((tmp_path / "home").glob("gateval-*")) == []


def test_a_killed_run_leaves_its_finished_trials(shop: Repo, tmp_path: Path) -> None:
    results = tmp_path / "out"
    run = start_gateval(shop, "run", "support-eval", "--results", str(results))
    wait_for_trial(run, results)
    run.kill()
    run.communicate(timeout=60)
    done = gateval(shop, "report", str(results))
    assert done.returncode == 3
    assert "refund-asks-why" in done.stdout


LOST = """\
import os, signal, sys
from gateval.app.guard import listen_for_interrupts

listen_for_interrupts()


class Callback:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)  # what is raised in here is printed as ignored


Callback()
from gateval.cli.main import run

sys.exit(run(sys.argv[1:]))
"""


def test_an_interrupt_that_python_lost_still_ends_the_run(shop: Repo, tmp_path: Path) -> None:
    arguments = ["run", "support-eval", "--results", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", LOST, *arguments],
        cwd=shop.path,
        env=environment(shop),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Exception ignored" in done.stderr
    assert done.returncode == 130, done.stderr
    assert candidate_processes(tmp_path) == []
