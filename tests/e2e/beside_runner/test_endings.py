"""The action beside the runner is cancelled, killed, or loses its parent, in the middle of a run."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest

from tests.e2e.beside_runner.waiting import wait_for_agent, wait_until
from tests.helpers.beside_runner import BOTH_RUNNERS, Runner
from tests.helpers.command import candidate_processes
from tests.helpers.program_shop import SLOWLY, ProgramShop
from tests.helpers.tiers import some_always


def parent(pid: int) -> int:
    """The parent of a process; 0 when it is gone."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def tree(pid: int) -> list[int]:
    """A process and all that descend from it, children first."""
    everything = [int(process.name) for process in Path("/proc").glob("[0-9]*")]
    return [*(one for child in everything if parent(child) == pid for one in tree(child)), pid]


@pytest.mark.drawn("runner")
@pytest.mark.parametrize("number", some_always([signal.SIGINT, signal.SIGTERM], 2))
@BOTH_RUNNERS
def test_cancelled(shop: ProgramShop, runner: Runner, number: signal.Signals) -> None:
    pull = shop.change(SLOWLY)
    job = shop.on_pull(pull)
    run = runner.start(job)
    wait_for_agent(shop, pull, run, job.folder)
    run.send_signal(number)
    ended = job.end(run, timeout=60)
    assert ended.code == 130, ended.errors
    assert shop.conclusions(pull.head_sha) == ["cancelled"]
    assert candidate_processes(job.folder) == []
    requests = shop.server.log.count()
    assert runner.run_post(job).code == 0
    assert shop.server.log.count() == requests


def test_killed_with_all_its_processes(shop: ProgramShop, runner: Runner) -> None:
    """As a runner does with a job that does not end when it is cancelled."""
    pull = shop.change(SLOWLY)
    job = shop.on_pull(pull)
    run = runner.start(job)
    wait_for_agent(shop, pull, run, job.folder)
    processes = tree(run.pid)
    for number in (signal.SIGSTOP, signal.SIGKILL):  # none is to see another one end
        for pid in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
    assert job.end(run).code == -signal.SIGKILL
    assert [one.status for one in shop.repo.checks("gateval")] == ["in_progress"]
    assert runner.run_post(job).code == 0
    assert shop.conclusions(pull.head_sha) == ["failure"]


def test_the_gate_ends_when_what_started_it_is_gone(shop: ProgramShop, runner: Runner) -> None:
    pull = shop.change(SLOWLY)
    job = shop.on_pull(pull)
    run = runner.start(job)
    wait_for_agent(shop, pull, run, job.folder)
    run.kill()
    run.communicate(timeout=60)
    wait_until(lambda: shop.conclusions(pull.head_sha) == ["cancelled"])
    assert runner.run_post(job).code == 0
    assert shop.conclusions(pull.head_sha) == ["cancelled"]
    wait_until(lambda: candidate_processes(job.folder) == [])


def test_a_gate_that_is_killed_alone_tells_its_status(shop: ProgramShop, runner: Runner) -> None:
    pull = shop.change(SLOWLY)
    job = shop.on_pull(pull)
    run = runner.start(job)
    wait_for_agent(shop, pull, run, job.folder)
    launcher = next(pid for pid in tree(run.pid) if parent(pid) == run.pid)
    (gate,) = (pid for pid in tree(launcher) if parent(pid) == launcher)
    os.kill(gate, signal.SIGKILL)
    assert job.end(run, timeout=60).code == 128 + signal.SIGKILL
    assert runner.run_post(job).code == 0
    assert shop.conclusions(pull.head_sha) == ["failure"]
