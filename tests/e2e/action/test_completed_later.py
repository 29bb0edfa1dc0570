"""GitHub does not take the completed check run: the step after the job completes it."""

from __future__ import annotations

import signal

import pytest

from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.tiers import some_always
from tests.servers.github.http import Reply
from tests.servers.github.state.pull import Pull

UPDATE = ("PATCH", "*/check-runs/*")
CREATE = ("POST", "*/check-runs")


def statuses(shop: GitHubShop, pull: Pull) -> list[tuple[str, str | None]]:
    return [(one.status, one.conclusion) for one in shop.repo.checks("gateval", pull.head_sha)]


@pytest.mark.parametrize(
    ("prompt", "code", "conclusion", "status", "times"),
    some_always(
        [
            (*verdict, *answer)
            for verdict in ((WORSE, 1, "failure"), (SAME, 0, "success"))
            for answer in ((502, 5), (401, 1), (422, 1))
        ],
        2,
        spread=True,
    ),
)
def test_the_post_entry_publishes_the_verdict(
    shop: GitHubShop, status: int, times: int, prompt: str, code: int, conclusion: str
) -> None:
    pull = shop.open_pull(prompt)
    job = shop.on_pull(pull)
    again = status < 500 and prompt == WORSE  # without the annotations, in case it is they
    shop.server.faults.status(*UPDATE, status, times=times + again)
    ended = job.run_action()
    assert ended.code == code, ended.errors
    assert "check run could not be written" in ended.log
    assert statuses(shop, pull) == [("in_progress", None)]

    assert job.run_post().code == 0
    assert statuses(shop, pull) == [("completed", conclusion)]
    (check,) = shop.repo.checks("gateval", pull.head_sha)
    assert (check.title or "").startswith("Fail: " if code else "Pass: ")
    assert len(pull.comments) == 1


@pytest.mark.drawn("prompt", "conclusion", "nth")
@pytest.mark.parametrize(("nth", "times"), [(1, 1), (2, 1), (1, 99)])
@pytest.mark.parametrize(("prompt", "conclusion"), [(WORSE, "failure"), (SAME, "success")])
def test_a_list_of_checks_that_cannot_be_read_keeps_none_from_being_made(
    shop: GitHubShop, prompt: str, conclusion: str, nth: int, times: int
) -> None:
    """One: what this run wrote before is its own, whether or not GitHub lists it."""
    pull = shop.open_pull(prompt)
    job = shop.on_pull(pull)
    refused = Reply(403, {"message": "Resource not accessible by integration"})
    shop.server.faults.plant("GET", "*/commits/*/check-runs", reply=refused, nth=nth, times=times)
    ended = job.run_action()
    assert ended.code == (conclusion == "failure"), ended.errors
    assert statuses(shop, pull) == [("completed", conclusion)]
    assert job.run_post().code == 0
    assert statuses(shop, pull) == [("completed", conclusion)]


def test_a_refusal_of_what_was_allowed_before_is_no_missing_permission(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    job = shop.on_pull(pull)
    refused = Reply(403, {"message": "Resource not accessible by integration"})
    shop.server.faults.plant(*UPDATE, reply=refused)
    shop.server.faults.plant("POST", "*/check-runs", reply=refused, nth=2)
    assert job.run_action().code == 1
    assert statuses(shop, pull) == [("in_progress", None)]
    assert job.run_post().code == 0
    assert statuses(shop, pull) == [("completed", "failure")]


def test_a_check_run_that_github_no_longer_finds_is_made_anew(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    job = shop.on_pull(pull)
    shop.server.faults.status(*UPDATE, 404)
    assert job.run_action().code == 1
    assert job.run_post().code == 0
    assert set(statuses(shop, pull)) == {("completed", "failure")}


@pytest.mark.parametrize(("stays", "conclusion"), [(True, "neutral"), (False, "failure")])
def test_a_bypass_is_published_later_only_while_the_label_is_there(
    shop: GitHubShop, stays: bool, conclusion: str
) -> None:
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action().code == 1
    job = shop.label(pull)
    shop.server.faults.status(*CREATE, 422, times=2)  # with annotations, and without
    assert job.run_action().code == 0
    if not stays:
        pull.unlabel("force-eval-bypass", by=shop.ada)
    assert job.run_post().code == 0
    assert statuses(shop, pull)[-1] == ("completed", conclusion)


def test_a_cancelled_run_is_completed_as_cancelled(shop: GitHubShop, slow: Pull) -> None:
    job = shop.on_pull(slow)
    run = job.start()
    shop.wait_for_check(slow, run)
    shop.server.faults.status(*UPDATE, 422)
    run.send_signal(signal.SIGTERM)
    assert job.end(run).code == 130
    assert job.run_post().code == 0
    assert statuses(shop, slow) == [("completed", "cancelled")]


def test_a_permission_that_is_missing_is_not_asked_for_again(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    token = shop.token(contents="write", pull_requests="write")
    job = shop.on_pull(pull, token=token)
    assert job.run_action().code == 1
    requests = shop.server.log.count()
    assert job.run_post().code == 0
    assert shop.server.log.count() == requests
