"""A workflow that a ruleset requires, and the one for labels beside it: two suites on one commit.

GitHub gives each workflow run a suite of its own and puts check runs that are made with the token
into one of them; which one is not promised.
"""

from __future__ import annotations

from gateval.domain.forge.check_run import Stamp
from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.servers.github.state.checks import CheckSuite
from tests.servers.github.state.pull import Pull


def another_run_begins(shop: GitHubShop, pull: Pull) -> None:
    """Make the suite of another workflow's run, into which GitHub puts what is made from now on."""
    world = shop.server.world
    (first, *_) = (one for one in shop.repo.suites if one.head_sha == pull.head_sha)
    suite = CheckSuite(world.new_id(), pull.head_sha, first.app, world.clock.tick())
    shop.repo.suites.insert(0, suite)


def test_a_label_answers_in_another_suite_without_running_evals(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action().code == 1
    another_run_begins(shop, pull)
    ended = shop.label(pull).run_action()
    assert ended.code == 0, ended.errors
    assert ended.outputs["results"] == "", "the verdict of the required workflow's run is found"
    failed, bypassed = shop.repo.checks("gateval", pull.head_sha)
    assert (failed.conclusion, bypassed.conclusion) == ("failure", "neutral")
    assert failed.suite is not bypassed.suite
    assert len([one for one in pull.comments if one.user.login == "github-actions[bot]"]) == 1
    another_run_begins(shop, pull)
    assert shop.unlabel(pull).run_action().code == 1
    assert shop.conclusions(pull.head_sha)[-1] == "failure"


def test_the_required_workflow_follows_the_label_when_it_is_run_again(shop: GitHubShop) -> None:
    """GitHub asks for that workflow's own status, which only its own run can change."""
    pull = shop.open_pull(WORSE)
    required = shop.on_pull(pull)
    assert required.run_action().code == 1
    another_run_begins(shop, pull)
    assert shop.label(pull).run_action().code == 0
    again = shop.on_pull(pull, run=required.run, attempt=2)
    ended = again.run_action()
    assert ended.code == 0, ended.errors
    assert ended.outputs["verdict"] == "bypassed"
    assert shop.conclusions(pull.head_sha)[-1] == "neutral"


def test_an_open_check_in_another_suite_is_taken_over(shop: GitHubShop) -> None:
    """So no run leaves one in progress behind, which would block for ever."""
    pull = shop.open_pull(SAME)
    earlier = str(Stamp(started="2026-01-01T00:00:00Z", run=1, attempt=1))
    shop.repo.add_check("gateval", pull.head_sha, status="in_progress", external_id=earlier)
    another_run_begins(shop, pull)
    assert shop.on_pull(pull).run_action().code == 0
    assert [one.status for one in shop.repo.checks("gateval", pull.head_sha)] == ["completed"]
