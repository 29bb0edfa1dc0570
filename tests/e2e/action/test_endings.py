"""Runs that end otherwise than they should: killed, cancelled, racing another one."""

from __future__ import annotations

import os
import signal
import time

import pytest

from gateval.domain.history.run_record import newest_first
from tests.helpers import stored
from tests.helpers.benchmarks import manifest
from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.repo import Repo
from tests.helpers.runner import Job
from tests.helpers.shop import SCRIPT
from tests.helpers.tiers import some_always
from tests.servers.github.state.pull import Pull


def test_a_killed_run_is_completed_by_the_post_entry(shop: GitHubShop, slow: Pull) -> None:
    job = shop.on_pull(slow)
    run = job.start()
    shop.wait_for_check(slow, run)
    assert [one.status for one in shop.repo.checks("gateval")] == ["in_progress"]
    run.kill()
    ended = job.end(run)
    assert ended.code == -signal.SIGKILL
    after = job.run_post()
    assert after.code == 0
    assert shop.conclusions(slow.head_sha) == ["failure"]
    job.run_post()
    assert shop.conclusions(slow.head_sha) == ["failure"]


@pytest.mark.parametrize("number", some_always([signal.SIGTERM, signal.SIGINT], 2))
def test_a_cancelled_run_completes_its_check(
    shop: GitHubShop, slow: Pull, number: signal.Signals
) -> None:
    job = shop.on_pull(slow)
    run = job.start()
    shop.wait_for_check(slow, run)
    run.send_signal(number)
    ended = job.end(run)
    assert ended.code == 130, ended.errors
    assert shop.conclusions(slow.head_sha) == ["cancelled"]
    requests = shop.server.log.count()
    assert job.run_post().code == 0
    assert shop.server.log.count() == requests, "there is nothing left to do"


TASKS = """\
tasks:
  - {name: done, instruction: Hello, criteria: [{label: greets, check: {type: contains, value: Hello}}]}
  - {name: late, instruction: Wait, criteria: [{label: greets, check: {type: contains, value: Hello}}]}
"""
WAIT = "rules:\n  - {when: {user: Wait}, reply: Hello, latencySeconds: 60}\n"
PATIENT = SCRIPT.replace("rules:\n", WAIT)


AGAIN_AND_AGAIN = 0.01
"""Then further signals follow until the job has ended: one may come when all is said and done."""


@pytest.mark.parametrize("pause", some_always([0.6, 0.05, AGAIN_AND_AGAIN], 2))
def test_a_cancelled_benchmark_keeps_its_completed_tasks(shop: GitHubShop, pause: float) -> None:
    shop.work.branch("change", "main")
    shop.work.write(".gateval/scripted/support.yaml", PATIENT)
    shop.work.write("bench/desk.yaml", manifest(TASKS))
    pull = shop.open_pull(SAME)
    job = shop.on_pull(pull)
    run = job.start()
    until = time.monotonic() + 60
    while '"desk.done","side":"head"' not in "".join(
        map(stored.log, job.workspace.glob(".gateval/results/2*"))
    ):
        assert time.monotonic() < until
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    time.sleep(pause)
    run.send_signal(signal.SIGTERM)
    while pause == AGAIN_AND_AGAIN and run.poll() is None:
        run.send_signal(signal.SIGTERM)
        time.sleep(0.002)
    ended = job.end(run)
    assert ended.code == 130, ended.errors
    assert shop.conclusions(pull.head_sha) == ["cancelled"]
    said = "desk@2: cancelled; 1 of 2 tasks completed: 1 pass; what was completed is kept"
    log = " ".join(ended.log.split())
    assert said in log, log
    assert "cancelled; 1 of 2 tasks completed" in ended.summary
    kept = Repo.at(shop.bare).git("show", "refs/gateval/runs:runs.jsonl")
    assert kept == (ended.results / "run.v1.json").read_bytes()
    (record,) = newest_first(kept)
    (found,) = record.evals
    assert (found.kind, found.status) == ("Benchmark", "cancelled")
    assert [one.status for one in found.fixtures] == ["completed", "cancelled"]


def test_the_post_entry_of_a_run_that_ended_well_asks_nothing(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    job = shop.on_pull(pull)
    assert job.run_action().code == 0
    requests = shop.server.log.count()
    assert job.run_post().code == 0
    assert shop.server.log.count() == requests


def test_two_runs_on_one_head_leave_one_check_and_one_comment(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    jobs = [shop.on_pull(pull), shop.on_pull(pull, "labeled")]
    runs = [job.start() for job in jobs]
    ended = [job.end(run) for job, run in zip(jobs, runs, strict=True)]
    assert [one.code for one in ended] == [1, 1]
    checks = shop.repo.checks("gateval", pull.head_sha)
    assert {one.conclusion for one in checks} == {"failure"}
    assert {one.status for one in checks} == {"completed"}
    assert len([one for one in pull.comments if one.user.login == "github-actions[bot]"]) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_workspace_of_another_user_stays_that_users(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    job = shop.on_pull(pull)
    for path in (job.workspace, *job.workspace.rglob("*")):
        os.lchown(path, 1001, 1001)
    ended = job.run_action(HOME="/nonexistent")
    assert ended.code == 1, ended.errors
    owners = {path.lstat().st_uid for path in job.workspace.rglob("*") if path.is_dir()}
    assert owners == {1001}
    assert {path.lstat().st_uid for path in ended.results.iterdir()} == {1001}


def test_runs_that_race_on_one_event_leave_one_entry(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action().code == 1

    def both(job: Job, other: Job) -> list[int]:
        runs = [(one, one.start()) for one in (job, other)]
        return [one.end(run).code for one, run in runs]

    first = shop.label(pull)
    assert both(first, shop.on_label(pull, "force-eval-bypass")) == [0, 0]
    first = shop.unlabel(pull)
    assert both(first, shop.on_label(pull, "force-eval-bypass", put="unlabeled")) == [1, 1]
    shop.label(pull)
    assert both(*(shop.on_label(pull, "force-eval-bypass") for _ in range(2))) == [0, 0]
    shop.commit(f"{WORSE}Be brief.\n")
    shop.push()
    assert both(*(shop.on_pull(pull, "synchronize") for _ in range(2))) == [1, 1]
    kinds = ["bypass-granted", "bypass-withdrawn", "bypass-granted", "bypass-ended"]
    assert [one.kind for one in shop.audit()] == kinds
    assert len([one for one in pull.comments if one.user.login == "github-actions[bot]"]) == 1
