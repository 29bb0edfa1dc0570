"""Measured in one job, published in another: the first one's token may have ended meanwhile."""

from __future__ import annotations

import pytest

from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.runner import Job
from tests.servers.github.state.pull import Pull

READS = {"contents": "read", "pull_requests": "read"}
PARTS = {"step": "publish", "results": "gate"}


def measured(shop: GitHubShop, pull: Pull) -> tuple[int, Job]:
    """Run the first job of `long-runs.yml`; return its status, and the second one with its files."""
    first, second = shop.on_pull(pull, token=shop.token(**READS)), shop.on_pull(pull)
    ended = first.run_action(inputs={"step": "run", "results": "gate"})
    ended.results.rename(second.workspace / "gate")
    shop.server.world.expire(first.token)
    return ended.code, second


@pytest.mark.parametrize(
    ("prompt", "code", "conclusion"), [(SAME, 0, "success"), (WORSE, 1, "failure")]
)
def test_the_second_job_says_what_the_first_one_measured(
    shop: GitHubShop, prompt: str, code: int, conclusion: str
) -> None:
    pull = shop.open_pull(prompt)
    first, second = measured(shop, pull)
    assert first == code
    assert (shop.repo.check_runs, pull.comments) == ({}, [])
    ended = second.run_action(inputs=PARTS)
    assert (ended.code, shop.conclusions(pull.head_sha)) == (code, [conclusion]), ended.errors
    assert len(pull.comments) == 1
    assert second.run_action(inputs=PARTS).code == code
    assert len(pull.comments) == 1


def test_a_push_while_it_runs_leaves_the_new_head_without_a_verdict(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    _, second = measured(shop, pull)
    old = pull.head_sha
    shop.commit(WORSE)
    shop.push()
    second.run_action(inputs=PARTS)
    assert pull.head_sha != old
    assert shop.conclusions(pull.head_sha) == []


def test_a_first_job_that_left_nothing_is_no_pass(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    second = shop.on_pull(pull)
    ended = second.run_action(inputs=PARTS)
    assert ended.code != 0
    assert shop.conclusions(pull.head_sha) == ["action_required"]
