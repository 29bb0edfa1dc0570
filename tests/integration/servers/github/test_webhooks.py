"""The payloads in event files agree with the API, and with nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.servers.github.conftest import Connect, Shop
from tests.servers.github import webhooks
from tests.servers.github.state.merge_queue import queue
from tests.servers.github.webhooks import Event

Make = Callable[[Shop], Event]


def _of_pull(action: str, label: str | None = None) -> Make:
    def make(shop: Shop) -> Event:
        if action == "closed":
            shop.pull.close(by=shop.ada)
        links = shop.server.links
        return webhooks.pull_request(shop.pull, action, by=shop.ada, label=label, links=links)

    return make


def _only(told: Any, seen: Any) -> Any:
    """Return of what was told the keys that were seen too."""
    if not isinstance(told, dict) or not isinstance(seen, dict):
        return told
    return {key: _only(told[key], value) for key, value in seen.items()}


def _group(shop: Shop) -> Event:
    return webhooks.merge_group(queue(shop.pull), by=shop.ada, links=shop.server.links)


EVENTS: dict[str, Make] = {
    **{
        action: _of_pull(action)
        for action in ("opened", "synchronize", "reopened", "ready_for_review", "closed")
    },
    **{action: _of_pull(action, "force-eval-bypass") for action in ("labeled", "unlabeled")},
    "merge_group": _group,
    "push": lambda shop: webhooks.push(shop.repo, "main", by=shop.ada, links=shop.server.links),
    "workflow_dispatch": lambda shop: webhooks.workflow_dispatch(
        shop.repo, by=shop.ada, inputs={"pull-request": "1"}, links=shop.server.links
    ),
    "issue_comment": lambda shop: webhooks.issue_comment(
        shop.pull,
        shop.pull.comment("/force-eval-bypass outage", by=shop.ada),
        links=shop.server.links,
    ),
}


@pytest.mark.parametrize("name", EVENTS)
def test_nothing_of_the_recording_shows_through(shop: Shop, name: str) -> None:
    event = EVENTS[name](shop)
    text = json.dumps(event.payload).lower()
    for foreign in ("codertocat", "octocat", "octo-repo", "hello-world", "github.com"):
        assert foreign not in text
    assert event.payload["repository"]["full_name"] == "acme/shop"
    assert event.payload["sender"]["login"] == "ada"


def test_event_and_api_agree(shop: Shop, connect: Connect) -> None:
    shop.pull.label("force-eval-bypass", by=shop.ada)
    event = _of_pull("labeled", "force-eval-bypass")(shop)
    told = event.payload["pull_request"]
    seen = connect(shop.token()).get_repo("acme/shop").get_pull(1).raw_data
    assert _only(told, seen) == seen
    assert event.payload["label"] in told["labels"]
    assert (event.ref, event.sha) == ("refs/pull/1/merge", shop.pull.merge_commit_sha)


def test_a_target_event_runs_on_the_default_branch(shop: Shop) -> None:
    event = webhooks.pull_request(
        shop.pull, "opened", by=shop.eve, target=True, links=shop.server.links
    )
    assert (event.name, event.ref) == ("pull_request_target", "refs/heads/main")
    assert event.sha == shop.repo.branches["main"]


def test_a_conflict_starts_no_run(shop: Shop) -> None:
    shop.pull.merge_commit_sha = None
    with pytest.raises(ValueError, match="while the branches conflict"):
        _of_pull("opened")(shop)


def test_a_merge_group_holds_the_pull_requests_in_order(shop: Shop, connect: Connect) -> None:
    shop.repo.push("second", shop.repo.commit("Second", on="main"), by=shop.ada)
    other = shop.repo.open_pull("second", by=shop.ada)
    group = queue(shop.pull, other)
    event = webhooks.merge_group(group, by=shop.ada, links=shop.server.links)
    base = shop.repo.branches["main"]
    assert event.ref == f"refs/heads/gh-readonly-queue/main/pr-2-{base}"
    told = event.payload["merge_group"]
    assert (told["base_sha"], told["head_sha"]) == (base, event.sha)
    commit = connect(shop.token()).get_repo("acme/shop").get_commit(event.sha)
    assert commit.commit.message.startswith("Merge pull request #2 from acme/second")
    assert commit.parents[1].sha == other.head_sha
    behind = queue(shop.pull, behind=group)
    assert behind.base_sha == group.head_sha
