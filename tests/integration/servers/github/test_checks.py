"""Check runs, suites, statuses."""

from __future__ import annotations

from typing import Any

import github
import pytest

from tests.integration.servers.github.conftest import Connect, Shop

NOTE = {
    "path": "agents/shop.yaml",
    "start_line": 3,
    "end_line": 3,
    "annotation_level": "failure",
    "message": "refund without asking",
}


def test_a_check_run_opens_grows_and_closes(shop: Shop, connect: Connect) -> None:
    repo = connect(shop.token()).get_repo("acme/shop")
    run = repo.create_check_run("gateval", shop.pull.head_sha, status="in_progress")
    assert run.status == "in_progress"
    assert not run.conclusion
    assert run.completed_at is None
    assert (run.app.slug, run.app.id) == ("github-actions", 15368)
    assert [each.number for each in run.pull_requests] == [1]
    for _ in range(2):
        run.edit(output={"title": "t", "summary": "s", "annotations": [NOTE] * 50})
    run.edit(conclusion="failure")
    kept = shop.repo.checks("gateval")[0]
    assert (kept.status, kept.conclusion, kept.title) == ("completed", "failure", "t")
    assert run.output.annotations_count == len(list(run.get_annotations())) == 100
    run.edit(status="in_progress")
    assert (kept.conclusion, kept.completed_at) == (None, None)


def test_check_runs_are_found_by_name_and_app(shop: Shop, connect: Connect) -> None:
    other = shop.server.world.app("acme-bot")
    head = shop.pull.head_sha
    old = shop.repo.add_check("gateval", head, conclusion="failure")
    new = shop.repo.add_check("gateval", head)
    foreign = shop.repo.add_check("gateval", head, app=other)
    commit = connect(shop.token()).get_repo("acme/shop").get_commit(head)
    latest = [run.id for run in commit.get_check_runs(check_name="gateval")]
    assert latest == [foreign.id, new.id]
    everything = commit.get_check_runs(check_name="gateval", filter="all")
    assert [run.id for run in everything] == [foreign.id, new.id, old.id]
    assert [suite.app.slug for suite in commit.get_check_suites()] == ["github-actions", "acme-bot"]
    suite = commit.get_check_suites(app_id=other.id)[0]
    assert [run.id for run in suite.get_check_runs()] == [foreign.id]
    assert suite.repository.get_check_suite(suite.id).head_sha == head
    assert (suite.status, suite.conclusion) == ("completed", "success")


def test_only_its_app_may_change_a_check_run(shop: Shop, connect: Connect) -> None:
    theirs = shop.repo.add_check("other", shop.pull.head_sha, app=shop.server.world.app("acme-bot"))
    job = shop.repo.add_check("job", shop.pull.head_sha, status="in_progress", managed=True)
    repo = connect(shop.token()).get_repo("acme/shop")
    with pytest.raises(github.GithubException, match="Invalid app_id") as refused:
        repo.get_check_run(theirs.id).edit(conclusion="success")
    assert refused.value.status == 403
    with pytest.raises(github.GithubException, match="only be updated internally"):
        repo.get_check_run(job.id).edit(conclusion="success")
    person = connect(shop.server.world.user_token(shop.ada)).get_repo("acme/shop")
    with pytest.raises(github.GithubException, match="authenticate via a GitHub App") as refused:
        person.create_check_run("gateval", shop.pull.head_sha)
    assert refused.value.status == 403


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"status": "completed"}, "conclusion"),
        ({"head_sha": "0" * 40}, "No commit found for SHA"),
        ({"output": {"title": "t", "summary": "s", "annotations": [NOTE] * 51}}, "50 items"),
        ({"output": {"title": "t", "summary": "x" * 65_536}}, "65535 characters"),
        ({"output": {"title": "t", "summary": "", "text": "x" * 65_536}}, "65535 characters"),
        ({"output": {"title": "t", "summary": "", "annotations": [NOTE | {"end_line": 1}]}}, "end"),
        (
            {
                "output": {
                    "title": "t",
                    "summary": "",
                    "annotations": [NOTE | {"end_line": 9, "start_column": 1}],
                }
            },
            "start_column",
        ),
        (
            {"output": {"title": "t", "summary": "", "annotations": [NOTE | {"title": "x" * 256}]}},
            "title",
        ),
        (
            {
                "output": {
                    "title": "t",
                    "summary": "",
                    "annotations": [NOTE | {"message": "x" * 65_537}],
                }
            },
            "64 KB",
        ),
    ],
)
def test_what_github_does_not_take(
    shop: Shop, connect: Connect, given: dict[str, Any], why: str
) -> None:
    repo = connect(shop.token()).get_repo("acme/shop")
    with pytest.raises(github.GithubException, match=why) as refused:
        repo.create_check_run(**{"name": "gateval", "head_sha": shop.pull.head_sha} | given)
    assert refused.value.status == 422
    assert shop.repo.checks("gateval") == []
    shop.server.violations.clear()


def test_a_workflow_cannot_choose_where_its_check_leads(shop: Shop, connect: Connect) -> None:
    world, head = shop.server.world, shop.pull.head_sha
    app = world.app_token(world.app("acme-bot"), shop.repo, checks="write")
    ours = connect(shop.token()).get_repo("acme/shop")
    theirs = connect(app).get_repo("acme/shop")
    wanted = "https://example.com/report"
    assert "/runs/" in ours.create_check_run("a", head, details_url=wanted).details_url
    assert theirs.create_check_run("b", head, details_url=wanted).details_url == wanted


def test_statuses_add_up(shop: Shop, connect: Connect) -> None:
    client = connect(shop.token())
    commit = client.get_repo("acme/shop").get_commit(shop.pull.head_sha)
    assert commit.get_combined_status().state == "pending"
    commit.create_status("failure", context="gate", description="2 regressions")
    assert commit.get_combined_status().state == "failure"
    commit.create_status("success", context="gate")
    assert commit.get_combined_status().state == "success"
    assert [each.state for each in shop.repo.statuses] == ["failure", "success"]
    every = f"/repos/acme/shop/commits/{shop.pull.head_sha}/statuses"
    _, listed = client.requester.requestJsonAndCheck("GET", every)
    assert [each["state"] for each in listed] == ["success", "failure"]
    with pytest.raises(github.GithubException, match="140 characters"):
        commit.create_status("success", description="x" * 141)
