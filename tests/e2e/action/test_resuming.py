"""A job that was cancelled or killed, run again: it goes on from what its check run confirms."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.helpers import stored
from tests.helpers.github_shop import SAME, GitHubShop
from tests.helpers.runner import Ended, Job
from tests.helpers.shop import SCRIPT
from tests.servers.artifacts import ArtifactService, artifact_service
from tests.servers.blob_store import BlobStore, archive
from tests.servers.github.state.actions import Artifact, WorkflowRun
from tests.servers.github.state.pull import Pull

LATE = "reply: Hello! How can I help?"


class Machine:
    """Jobs of one workflow run on a pull request, of which one fixture on head takes its time."""

    def __init__(
        self, shop: GitHubShop, service: ArtifactService, store: BlobStore, seconds: float
    ) -> None:
        self.shop, self.service, self.store = shop, service, store
        shop.work.branch("change", "main")
        script = SCRIPT.replace(LATE, f"{LATE}\n    latencySeconds: {seconds}")
        shop.work.write(".gateval/scripted/support.yaml", script)
        self.pull: Pull = shop.open_pull(SAME)

    def job(self, run: int = 77, attempt: int = 1, may: Mapping[str, str] = {}) -> Job:
        allowed = {"contents": "write", "pull_requests": "write", "checks": "write"}
        token = self.shop.token(**{**allowed, "actions": "read", **may})
        return self.shop.on_pull(self.pull, run=run, attempt=attempt, token=token)

    def cut(
        self,
        job: Job,
        number: signal.Signals,
        uploads: int = 0,
        environ: Mapping[str, str] = MappingProxyType({}),
    ) -> Ended:
        """Start a job, and end it when all but the late trials are over and so much is uploaded."""
        run = job.start(inputs={}, **self.service.environ, **environ)
        self.shop.wait_for_check(self.pull, run)
        deadline = time.monotonic() + 100
        while run.poll() is None and time.monotonic() < deadline:
            folders = list((job.workspace / ".gateval/results").glob("2*"))
            if folders and self.is_far(folders[0], uploads):
                break
            time.sleep(0.05)
        run.send_signal(number)
        return job.end(run)

    def is_far(self, folder: Path, uploads: int) -> bool:
        early = len(stored.trials(folder)) >= 3
        return early and len(self.service.kept) >= uploads

    def publish(self, run: int = 77, change: Callable[[bytes], bytes] = lambda it: it) -> None:
        """Have GitHub's API tell of what the service took."""
        known = WorkflowRun(run, "pull_request", "change", self.pull.head_sha, "x", "acme/shop")
        for number, (name, content) in enumerate(self.service.kept.items(), start=1):
            told = change(content)
            known.artifacts.append(Artifact(number, name, told, self.store.put(told)))
        self.shop.repo.workflow_runs[run] = known


@pytest.fixture
def blob_store() -> Iterator[BlobStore]:
    with BlobStore() as store:
        yield store


@pytest.fixture
def service() -> Iterator[ArtifactService]:
    with artifact_service() as found:
        yield found


def info(ended: Ended) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ended.results / "results.v1.json").read_text())
    return found


def test_a_cancelled_job_that_is_run_again_goes_on(
    shop: GitHubShop, service: ArtifactService, blob_store: BlobStore
) -> None:
    machine = Machine(shop, service, blob_store, 15)
    first = machine.cut(machine.job(), signal.SIGTERM)
    assert first.code == 130, first.errors
    assert list(service.kept) == ["gateval-trials-1-1"]
    machine.publish()
    before = {json.dumps(one["key"]): one for one in stored.trials(first.results)}
    job = machine.job(attempt=2)
    second = job.run_action(inputs={}, **service.environ)
    assert second.code == 0, second.log + second.errors
    after = {json.dumps(one["key"]): one for one in stored.trials(second.results)}
    assert before.items() <= after.items(), "no lot is drawn again"
    assert len(after) > len(before)
    (comment,) = machine.pull.comments
    assert f"{len(before)} measured there count, red and green alike" in comment.body
    newest = shop.repo.checks("gateval", machine.pull.head_sha)[-1]
    assert newest.conclusion == "success"
    assert "gateval:trials" not in (newest.text or "")


def test_what_a_killed_machine_had_uploaded_counts_and_the_rest_is_said(
    shop: GitHubShop, service: ArtifactService, blob_store: BlobStore
) -> None:
    """Nobody ran its last step, and another workflow run goes on from it, too."""
    machine = Machine(shop, service, blob_store, 12)
    job = machine.job()
    first = machine.cut(job, signal.SIGKILL, uploads=1)
    assert first.code == -signal.SIGKILL
    machine.publish()
    assert job.run_post().code == 0
    second = machine.job(run=78).run_action(inputs={}, **service.environ)
    assert second.code == 0, second.log + second.errors
    told = info(second)["info"]["resumed"]
    assert told.startswith("Goes on from run 77.1; of its trials, ")
    assert "What it measured after its last upload is paid again." in told


def test_a_machine_that_was_lost_with_all_it_had_is_said(
    shop: GitHubShop, service: ArtifactService, blob_store: BlobStore
) -> None:
    machine = Machine(shop, service, blob_store, 6)
    service.fail = [403] * 50
    first = machine.cut(machine.job(), signal.SIGKILL)
    assert first.code == -signal.SIGKILL
    second = machine.job(attempt=2).run_action(inputs={}, **service.environ)
    assert second.code == 0, second.log + second.errors
    assert "Run 77.1 was cut short and has left nothing" in machine.pull.comments[0].body
    assert "did not take the artifact gateval-trials-2-1: it answered 403" in second.log


def _forged(content: bytes) -> bytes:
    """The trials of a machine, all of them passed."""
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(content)) as files:
        part = files.read("part.v1.json")
    return archive({"part.v1.json": part.replace(b'"outcome":"fail"', b'"outcome":"pass"') + b" "})


def _by_another_app(machine: Machine) -> None:
    for check in machine.shop.repo.checks("gateval", machine.pull.head_sha):
        app = machine.shop.server.world.app("mallory-ci")
        check.suite = replace(check.suite, app=app)


@pytest.mark.parametrize(
    ("change", "alter", "may", "said"),
    [
        (_forged, None, {}, "is gone, or is not what its check run confirms"),
        (None, lambda m: m.shop.repo.workflow_runs.clear(), {}, "cannot be had"),
        (None, None, {"actions": "none"}, "the job lacks `actions: read`"),
        (None, _by_another_app, {}, ""),
    ],
    ids=["forged", "gone", "may not read", "another App's check run"],
)
def test_what_the_gates_own_check_run_does_not_confirm_does_not_count(
    shop: GitHubShop,
    service: ArtifactService,
    blob_store: BlobStore,
    change: Callable[[bytes], bytes] | None,
    alter: Callable[[Machine], None] | None,
    may: dict[str, str],
    said: str,
) -> None:
    machine = Machine(shop, service, blob_store, 6)
    first = machine.cut(machine.job(), signal.SIGTERM)
    assert first.code == 130, first.errors
    machine.publish(change=change or (lambda it: it))
    if alter is not None:
        alter(machine)
    second = machine.job(attempt=2, may=may).run_action(inputs={}, **service.environ)
    found = info(second)
    assert second.code == 0, second.log + second.errors
    assert "measured there count" not in found["info"].get("resumed", "")
    resumed = found["info"].get("resumed", "")
    assert said in resumed if said else not resumed


def test_nothing_is_kept_of_another_plan(
    shop: GitHubShop, service: ArtifactService, blob_store: BlobStore
) -> None:
    """The target branch moved on: its policy is another one."""
    machine = Machine(shop, service, blob_store, 6)
    assert machine.cut(machine.job(), signal.SIGTERM).code == 130
    machine.publish()
    shop.push_main(**{".github__gateval.yml": "policy: {gateway: {callsPerRun: 400}}\n"})
    second = machine.job(attempt=2).run_action(inputs={}, **service.environ)
    assert info(second)["info"].get("resumed", "") == ""
