"""Runs of the action are kept at the remote, and a clone elsewhere shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gateval.domain.history.run_record import RunRecord, newest_first
from tests.helpers.command import gateval
from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.repo import Repo
from tests.helpers.runner import Ended


def pushed(shop: GitHubShop, prompt: str, **more: Any) -> Ended:
    """A push to main, and its run."""
    shop.push_main(**{"agents__prompts__support.md": prompt})
    job = shop.job("push", shop.push_payload(), sha=shop.repo.branches["main"])
    job.check_out(shop.bare, "refs/heads/main")
    return job.run_action(**more)


def kept(shop: GitHubShop) -> list[RunRecord]:
    return list(newest_first(Repo.at(shop.bare).git("show", "refs/gateval/runs:runs.jsonl")))


def test_a_push_to_main_is_kept_with_where_it_ran(shop: GitHubShop) -> None:
    ended = pushed(
        shop,
        WORSE,
        GITHUB_RUN_ID="4711",
        GITHUB_WORKFLOW_REF="acme/shop/.github/workflows/base.yml@refs/heads/main",
    )
    assert ended.code == 1, ended.errors
    (record,) = kept(shop)
    assert (record.id, record.event, record.run) == ("4711-1", "push", 4711)
    assert (record.branch, record.workflow) == ("main", ".github/workflows/base.yml")
    assert record.commit == shop.repo.branches["main"]
    (run,) = record.evals
    assert [(one.fixture, one.trials, one.regressed) for one in run.fixtures] == [
        ("greets", "p", False),
        ("refund-asks-why", "f", True),
    ]
    stored = (ended.results / "run.v1.json").read_bytes()
    assert stored == Repo.at(shop.bare).git("show", "refs/gateval/runs:runs.jsonl")


def test_a_pull_request_is_kept_as_such_and_one_of_a_fork_is_not(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    assert shop.on_pull(pull).run_action().code == 0
    (record,) = kept(shop)
    assert (record.event, record.pull_request, record.branch) == ("pull_request", pull.number, "")

    shop.on_pull(shop.open_fork_pull(WORSE)).run_action()
    assert len(kept(shop)) == 1


def test_a_run_that_cannot_be_kept_gives_its_verdict_all_the_same(shop: GitHubShop) -> None:
    token = shop.token(contents="read", pull_requests="write", checks="write")
    ended = shop.on_pull(shop.open_pull(SAME), token=token).run_action()
    assert ended.code == 0, ended.errors
    assert "The run is not kept, so `gateval history` lacks it." in ended.log


def test_a_clone_shows_what_ran_in_ci(shop: GitHubShop, tmp_path: Path) -> None:
    pushed(shop, SAME, GITHUB_RUN_ID="1")
    clone = Repo.clone(shop.bare, tmp_path / "clone")
    shown = gateval(clone, "get", "evals", "-o", "json")
    (found,) = json.loads(shown.stdout)
    assert (found["phase"], found["event"]) == ("Passed", "push"), shown.stderr

    pushed(shop, WORSE, GITHUB_RUN_ID="2")
    clone.git("pull", "--quiet", "origin", "main")
    assert json.loads(gateval(clone, "get", "evals", "-o", "json").stdout)[0]["phase"] == "Stale"
    fetched = gateval(clone, "get", "evals", "-o", "json", "--fetch")
    assert json.loads(fetched.stdout)[0]["phase"] == "Failed"
    assert clone.status() == b""

    history = gateval(clone, "history", "support-eval")
    assert "regressed since" in history.stdout
    assert "refund-asks-why" in history.stdout
