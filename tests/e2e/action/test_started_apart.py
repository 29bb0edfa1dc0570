"""Runs that no change starts: by the clock, and by hand for the one head that somebody has read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.runner import Job


def by_the_clock(shop: GitHubShop, payload: dict[str, Any]) -> Job:
    job = shop.job("schedule", payload, ref="refs/heads/main", sha=shop.repo.branches["main"])
    job.check_out(shop.bare, "refs/heads/main")
    return job


@pytest.mark.parametrize("told", [True, False], ids=["GitHub", "an older server"])
def test_a_schedule_runs_all_evals_of_the_default_branch(
    shop: GitHubShop,
    told: bool,
) -> None:
    repository = {"repository": shop.dispatch_payload()["repository"]} if told else {}
    ended = by_the_clock(shop, {"schedule": "23 4 * * 1", **repository}).run_action()
    assert ended.code == 0, ended.errors
    tip = shop.repo.branches["main"]
    assert shop.conclusions(tip, "gateval (scheduled)") == ["success"]
    assert shop.conclusions(tip) == [], "it stands for no change"
    results = json.loads((ended.results / "results.v1.json").read_text())
    assert {one["name"] for one in results["plan"]["evals"]} == {"support-eval"}
    assert {trial["key"]["side"] for trial in results["trials"]} == {"head"}


def test_a_schedule_is_red_when_the_agent_no_longer_does_what_it_should(shop: GitHubShop) -> None:
    tip = shop.push_main(**{"agents__prompts__support.md": WORSE})
    ended = by_the_clock(shop, {"schedule": "23 4 * * 1"}).run_action()
    assert ended.code == 1, ended.errors
    assert shop.conclusions(tip, "gateval (scheduled)") == ["failure"]


def test_a_schedule_without_any_eval_is_not_green(shop: GitHubShop) -> None:
    shop.work.checkout("main")
    shop.work.git("rm", "-r", "--quiet", "evals")
    shop.work.commit()
    shop.push("main")
    ended = by_the_clock(shop, {"schedule": "23 4 * * 1"}).run_action()
    assert ended.code == 2
    assert "There is no Eval to run" in ended.errors


def test_a_run_by_hand_measures_the_head_that_was_read(shop: GitHubShop) -> None:
    pull = shop.open_fork_pull(WORSE)
    given = {"pull-request": str(pull.number), "head-sha": pull.head_sha}
    ended = shop.on_dispatch().run_action(inputs=given)
    assert ended.code == 1, ended.errors
    assert shop.conclusions(pull.head_sha) == ["failure"]


def test_nothing_that_was_pushed_in_between_is_run(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    read = pull.head_sha
    shop.commit(WORSE)
    pull.head_sha = shop.push()
    given = {"pull-request": str(pull.number), "head-sha": read}
    ended = shop.on_dispatch().run_action(inputs=given)
    assert ended.code == 2
    assert f"is {pull.head_sha[:12]}, not {read[:12]} as was asked for. Nothing was run" in (
        " ".join(ended.errors.split())
    )
    assert shop.repo.check_runs == {}
    assert pull.comments == []
    assert not (ended.workspace / ".gateval/results").exists()


def test_a_branch_is_held_to_the_head_that_was_read(shop: GitHubShop) -> None:
    shop.commit(SAME)
    read = shop.push()
    shop.commit(WORSE)
    head = shop.push()
    job = shop.job(
        "workflow_dispatch", shop.dispatch_payload("change"), ref="refs/heads/change", sha=head
    )
    job.check_out(shop.bare, "refs/heads/change")
    ended = job.run_action(inputs={"head-sha": read})
    assert ended.code == 2
    assert "Nothing was run" in ended.errors
    assert shop.repo.check_runs == {}
    assert job.run_action(inputs={"head-sha": head}).code == 1


@pytest.mark.parametrize("event", ["pull_request", "push"])
def test_a_head_is_named_for_manual_runs_only(shop: GitHubShop, event: str) -> None:
    pull = shop.open_pull(SAME)
    job = shop.on_pull(pull) if event == "pull_request" else None
    if job is None:
        shop.push_main(**{"README.md": "Better.\n"})
        job = shop.job("push", shop.push_payload(), sha=shop.repo.branches["main"])
        job.check_out(shop.bare, "refs/heads/main")
    ended = job.run_action(inputs={"head-sha": pull.head_sha})
    assert ended.code == 2
    assert f"The input head-sha has no meaning on {event}." in ended.errors
