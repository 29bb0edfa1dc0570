"""Manual runs, merge queue, pushes, and events that the gate does not follow."""

from __future__ import annotations

import json

import pytest

from tests.helpers import payloads
from tests.helpers.github_shop import SAME, WORSE, GitHubShop


def test_a_maintainers_run_gives_the_verdict_on_the_live_head(shop: GitHubShop) -> None:
    pull = shop.open_fork_pull(WORSE)
    ended = shop.on_dispatch().run_action(inputs={"pull-request": str(pull.number)})
    assert ended.code == 1, ended.errors
    assert shop.conclusions(pull.head_sha) == ["failure"]
    assert shop.repo.branches["main"] != pull.head_sha
    assert len(pull.comments) == 1


@pytest.mark.parametrize("number", ["", "99"])
def test_a_manual_run_without_a_pull_request_is_never_green(shop: GitHubShop, number: str) -> None:
    ended = shop.on_dispatch().run_action(inputs={"pull-request": number})
    assert ended.code == (2 if not number else 3)
    assert ended.errors
    assert "pull" in ended.summary
    assert shop.repo.check_runs == {}


def test_a_manual_run_for_a_closed_pull_request(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    pull.close(by=shop.ada)
    ended = shop.on_dispatch().run_action(inputs={"pull-request": str(pull.number)})
    assert ended.code == 2
    assert "is closed" in ended.errors


def test_a_manual_run_on_a_branch(shop: GitHubShop) -> None:
    shop.commit(WORSE)
    head = shop.push()
    payload = shop.dispatch_payload("change")
    job = shop.job("workflow_dispatch", payload, ref="refs/heads/change", sha=head)
    job.check_out(shop.bare, "refs/heads/change")
    assert job.run_action().code == 1
    assert shop.conclusions(head) == ["failure"]


def test_a_merge_group_is_compared_with_what_it_builds_on(shop: GitHubShop) -> None:
    """The group before it changes the rules; they do not count before they are on main."""
    shop.work.branch("first", "main")
    shop.work.write(".github/gateval.yml", "policy: {regressions: 'off'}\n")
    shop.work.commit()
    base, _ = shop.queue("first", 1, on="main")
    pull = shop.open_pull(WORSE)
    head, ref = shop.queue("change", pull.number, on=base)
    payload = shop.group_payload(head, ref, base=base)
    job = shop.job("merge_group", payload, ref=ref, sha=head)
    job.check_out(shop.bare, ref)
    ended = job.run_action()
    assert ended.code == 1, ended.errors
    plan = json.loads((ended.results / "plan.v1.json").read_text())
    assert plan["head"]["commit"] == head
    assert plan["base"]["commit"] == base
    assert plan["base_tip"]["commit"] == shop.repo.branches["main"]
    assert plan["policy"]["regressions"] == "block"
    (check,) = shop.repo.checks("gateval", head)
    assert check.conclusion == "failure"
    assert (check.summary or "").startswith(f"Merge group of #{pull.number}.")
    assert shop.conclusions(pull.head_sha) == []
    assert pull.comments == []


def test_a_push_to_the_default_branch_is_compared_with_what_it_replaced(shop: GitHubShop) -> None:
    before = shop.repo.branches["main"]
    after = shop.push_main(**{"agents__prompts__support.md": WORSE})
    payload = shop.push_payload()
    assert (payload["before"], payload["after"]) == (before, after)
    job = shop.job("push", payload, sha=after)
    job.check_out(shop.bare, "refs/heads/main")
    ended = job.run_action()
    assert ended.code == 1, ended.errors
    assert shop.conclusions(after) == ["failure"]


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("pull_request_target", payloads.pull_request()),
        ("issues", {}),
        ("release", {}),
        ("pull_request", payloads.pull_request("locked")),
        ("merge_group", payloads.merge_group(action="destroyed")),
    ],
)
def test_events_that_the_gate_does_not_follow(
    shop: GitHubShop, event: str, payload: dict[str, object]
) -> None:
    job = shop.job(event, payload)
    job.check_out(shop.bare, "refs/heads/main")
    ended = job.run_action()
    assert ended.code == 2
    assert "::error title=Gateval::" in ended.log
    assert shop.server.log.count() == 0


@pytest.mark.parametrize("step", ["all", "plan", "run", "publish"])
def test_a_pull_request_that_was_closed_ends_green_with_a_notice(
    shop: GitHubShop, step: str
) -> None:
    """Merged or not: nothing is read, run or written, whatever there is in the workspace."""
    pull = shop.open_pull(SAME)
    pull.close(by=shop.ada)
    job = shop.job("pull_request", payloads.pull_request("closed", number=pull.number))
    job.workspace.mkdir(parents=True)
    ended = job.run_action(inputs={"step": step})
    assert ended.code == 0, ended.errors
    assert "::notice title=Gateval::The pull request is closed: nothing was evaluated" in ended.log
    assert ended.outputs.get("verdict", "") == ""
    assert shop.server.log.count() == 0
    assert shop.repo.check_runs == {}


def test_an_error_speaks_of_the_repository_s_paths_and_in_words_of_our_own(
    shop: GitHubShop,
) -> None:
    job = shop.on_pull(shop.open_pull(SAME))
    (job.workspace / "out").mkdir()
    (job.workspace / "out/old.txt").write_text("old\n")
    ended = job.run_action(inputs={"results": "out"})
    assert ended.code == 2
    assert "The folder for results, out, is not empty." in ended.summary
    assert str(job.workspace) not in ended.log + ended.errors + ended.summary

    ended = shop.on_pull(shop.open_pull(SAME, "other")).run_action(
        GITHUB_API_URL="http://x.example"
    )
    assert ended.code == 2
    assert "environment: api_url must begin with https://" in ended.errors
