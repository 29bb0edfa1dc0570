"""The audit log on GitHub: which permission it takes, and what a ruleset does for it."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateval.adapters.git.records import GitRecords
from gateval.adapters.git.repository import open_repository
from gateval.domain.audit import read_log
from gateval.ports.storage import AUDIT_LOG
from gateval.publish.audit import append_entry, record_event
from tests.helpers.audit_events import event
from tests.helpers.repo import Repo
from tests.servers.github.server import GitHubServer
from tests.servers.github.state.protection import Rule, Ruleset
from tests.servers.github.state.repository import Repository


@dataclass(frozen=True)
class Shop:
    """acme/shop with real git, and a clone of it on a runner."""

    server: GitHubServer
    repo: Repository
    clone: Repo

    def records(self, **permissions: str) -> GitRecords:
        token = self.server.world.workflow_token(self.repo, **permissions)
        url = f"{self.server.url}/acme/shop"
        return open_repository(self.clone.path, self.clone.env).records(
            self.clone.env, remote=url, token=token
        )

    def log(self) -> bytes:
        assert self.repo.git is not None
        name = f"{AUDIT_LOG.ref}:{AUDIT_LOG.path}"
        line = ["git", "-C", str(self.repo.git.path), "show", name]
        return subprocess.run(line, capture_output=True, check=True).stdout


@pytest.fixture
def shop(github_server: GitHubServer, tmp_path: Path) -> Shop:
    world = github_server.world
    repo = world.repository("acme/shop", git=tmp_path / "remote/shop.git")
    ada = repo.role(world.user("ada"), "maintain")
    clone = Repo(tmp_path / "clone")
    clone.write("agent.yaml", "version: 1\n")
    clone.commit()
    repo.push_from(clone.path, "main", "main", by=ada)
    return Shop(github_server, repo, clone)


def test_contents_write_is_enough(shop: Shop) -> None:
    rules = (Rule("non_fast_forward"), Rule("deletion"))
    shop.repo.rulesets.append(Ruleset(1, "audit", ("gateval-audit",), rules))
    with shop.records(contents="write") as records:
        for text in ("First", "Second"):
            append_entry(records, event(text))
    assert [entry.reason for entry in read_log(shop.log()).entries] == ["First", "Second"]


def test_contents_read_is_not_and_that_is_said(shop: Shop) -> None:
    with shop.records(contents="read", pull_requests="write") as records:
        receipt = record_event(event(), records)
    (failed,) = receipt.failed()
    assert failed.problem.startswith(
        f"Gateval cannot write refs/heads/gateval-audit at {shop.server.url}/acme/shop: the "
        "permission `contents: write` is missing ("
    )
    assert failed.hint == (
        "Give the job the permission `contents: write` (`permissions:` in the workflow)."
    )


def test_four_runs_at_once(shop: Shop) -> None:
    def write(number: int) -> int:
        with shop.records(contents="write") as records:
            return append_entry(records, event(f"Run {number}")).number

    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(write, range(4)))
    assert sorted(numbers) == list(range(1, 5))
    assert len(read_log(shop.log()).entries) == 4
