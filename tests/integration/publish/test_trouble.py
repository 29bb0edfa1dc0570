"""GitHub refuses, limits, breaks: the gate waits as it is asked to, and says what it could not do."""

from __future__ import annotations

import time

import pytest

from gateval.adapters.github.transport import RetryLimits
from gateval.errors import ForgeRejected, ForgeUnavailable, NotOnForge, RateLimited
from gateval.publish.check import Sink, WriteStatus
from gateval.publish.github import open_check, publish
from gateval.safe.sanitize import inline
from tests.integration.publish.conftest import Shop, open_shop, said
from tests.servers.github.http import Reply
from tests.servers.github.server import GitHubServer


@pytest.mark.parametrize(
    ("permissions", "failed", "named"),
    [
        ({"checks": "read", "pull_requests": "write"}, {Sink.CHECK_RUN}, {"checks: write"}),
        ({"checks": "write", "pull_requests": "read"}, {Sink.COMMENT}, {"pull-requests: write"}),
        (
            {"checks": "read", "pull_requests": "read"},
            {Sink.CHECK_RUN, Sink.COMMENT},
            {"checks: write", "pull-requests: write"},
        ),
    ],
)
def test_a_missing_permission_is_named_and_the_rest_is_written(
    shop: Shop, permissions: dict[str, str], failed: set[Sink], named: set[str]
) -> None:
    target = shop.target()
    forge = shop.forge(None, **permissions)
    open_check(forge, target)
    done = publish(forge, target, said("x"))

    assert {one.sink for one in done.notes if one.status is WriteStatus.FAILED} == failed
    assert {one.permission for one in done.notes} - {""} == named
    for permission in named:
        assert any(
            f"Add `{permission}` to the job's `permissions`." in one for one in done.warnings
        )
    assert len(shop.ours) == (Sink.COMMENT not in failed)
    assert len(shop.repo.checks("gateval")) == (Sink.CHECK_RUN not in failed)
    assert shop.waits == []


def test_who_may_not_read_is_told_what_writing_needs(github_server: GitHubServer) -> None:
    shop = open_shop(github_server)
    shop.repo.private = True

    done = publish(shop.forge(contents="read"), shop.target(), said("x"))

    assert {one.permission for one in done.notes} == {"checks: write", "pull-requests: write"}


def test_without_check_runs_our_own_comment_is_still_known(shop: Shop) -> None:
    for run in (1, 2):
        done = publish(shop.forge(pull_requests="write"), shop.target(run, minute=run), said("x"))

    assert done.notes[-1].status is WriteStatus.WRITTEN
    assert len(shop.ours) == 1


def test_a_person_s_token_writes_comments_only(shop: Shop) -> None:
    forge = shop.forge_with(shop.server.world.user_token(shop.ada))
    for run in (1, 2):
        done = publish(forge, shop.target(run, minute=run), said(f"run {run}"))

    assert "You must authenticate via a GitHub App" in done.warnings[0]
    assert [one.user.login for one in shop.pull.comments] == ["ada"]


@pytest.mark.parametrize(
    ("retry_after", "status", "waits"),
    [(7, 403, [7.0]), (7, 429, [7.0]), (None, 403, [60.0]), (None, 429, [60.0])],
)
def test_secondary_limits(
    shop: Shop, retry_after: int | None, status: int, waits: list[float]
) -> None:
    shop.server.faults.secondary_limit("POST", "*/comments", retry_after=retry_after, status=status)

    assert publish(shop.forge(), shop.target(), said("x")).warnings == ()
    assert shop.waits == waits


def test_the_primary_limit_is_waited_for_until_it_is_reset(shop: Shop) -> None:
    shop.server.limits.hourly = 2
    shop.server.limits.resets_in = 40
    forge = shop.forge()
    forge.pull_request(1)
    forge.pull_request(1)

    with pytest.raises(RateLimited, match="a pause of"):
        forge.pull_request(1)
    assert shop.waits
    assert all(30 < wait <= 42 for wait in shop.waits)


def test_a_longer_pause_than_there_is_patience_for_is_an_error_at_once(shop: Shop) -> None:
    shop.server.limits.hourly = 0
    with pytest.raises(RateLimited) as caught:
        shop.forge().pull_request(1)

    assert shop.waits == []
    assert "GitHub asks for a pause of 3,60" in caught.value.message


def test_all_waits_together_are_bounded(shop: Shop) -> None:
    shop.server.faults.secondary_limit("GET", "*", times=99)
    forge = shop.forge(RetryLimits(total_seconds=200, between_writes=0))
    for _ in range(3):
        with pytest.raises(RateLimited):
            forge.pull_request(1)

    assert shop.waits == [60, 120]


@pytest.mark.parametrize("status", [500, 502, 503])
def test_errors_of_the_server_pass(shop: Shop, status: int) -> None:
    shop.server.faults.status("POST", "*/check-runs", status, times=2)

    assert publish(shop.forge(), shop.target(), said("x")).warnings == ()
    assert shop.waits == [1, 2]


def test_an_outage_is_reported_after_the_last_attempt(shop: Shop) -> None:
    shop.server.faults.status("*", "*/check-runs*", 503, times=99)

    done = publish(shop.forge(), shop.target(), said("x"))

    assert shop.waits == [1, 2, 4, 8] * 2, "neither listed nor taken"
    (warning,) = done.warnings
    assert warning == (
        "The check run could not be written. GitHub did not take a check run on "
        f"{shop.pull.head_sha[:7]}: it answered 503. The gate waited 15 s. "
        "See https://www.githubstatus.com, and run the job again later."
    )
    assert len(shop.ours) == 1, "the comment is written all the same"


@pytest.mark.parametrize("how", ["drop", "garbled", "slow"])
def test_broken_answers_are_asked_for_again(shop: Shop, how: str) -> None:
    faults = shop.server.faults
    if how == "drop":
        faults.plant("GET", "*/pulls/1", drop=True)
    elif how == "garbled":
        faults.garbled("GET", "*/pulls/1")
    else:
        faults.plant("GET", "*/pulls/1", delay=1.5)
    forge = shop.forge(RetryLimits(timeout_seconds=1, between_writes=0))

    assert forge.pull_request(1).head.sha == shop.pull.head_sha
    assert shop.waits == [1]
    assert shop.server.log.count("GET", "*/pulls/1") == 2


def test_422_is_not_repeated(shop: Shop) -> None:
    with pytest.raises(ForgeRejected, match="Body is too long"):
        shop.forge().create_comment(1, inline("x" * 70_000, 70_000))
    assert (shop.waits, shop.server.log.count("POST")) == ([], 1)


def test_a_pull_request_that_is_not_there(shop: Shop) -> None:
    with pytest.raises(NotOnForge, match="it did not show pull request 9: Not Found"):
        shop.forge().pull_request(9)


def test_an_answer_of_another_shape_is_an_outage(shop: Shop) -> None:
    shop.server.faults.plant("GET", "*/pulls/1", reply=Reply(200, {"number": "x"}))

    with pytest.raises(ForgeUnavailable, match="something unexpected"):
        shop.forge().pull_request(1)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_to_another_host_is_not_followed(shop: Shop, status: int) -> None:
    with GitHubServer() as stranger:
        elsewhere = stranger.url.replace("127.0.0.1", "localhost") + "/steal"
        reply = Reply(status, {"message": "Moved"}, {"Location": elsewhere})
        shop.server.faults.plant("GET", "*/pulls/1", reply=reply)

        with pytest.raises(ForgeRejected, match="sent the gate"):
            shop.forge().pull_request(1)
        assert stranger.log.count() == 0
    assert shop.waits == []


def test_addresses_in_answers_are_not_followed(shop: Shop) -> None:
    with GitHubServer() as stranger:
        link = {"Link": f'<{stranger.url}/steal?page=2>; rel="next"'}
        shop.server.faults.plant("GET", "*/comments", reply=Reply(200, [], link))
        shop.forge().comments(1)

        assert stranger.log.count() == 0
    assert [entry.query.get("page") for entry in shop.server.log.of("GET", "*/comments")] == [
        None,
        "2",
    ]


def test_on_enterprise_everything_lies_under_its_prefix() -> None:
    with GitHubServer(enterprise=True) as server:
        shop = open_shop(server)
        target = shop.target()
        forge = shop.forge(pull_requests="write")
        for run in (1, 2):
            publish(forge, shop.target(run, minute=run), said("x"))
        assert len(shop.ours) == 1
        open_check(shop.forge(), target)
        done = publish(shop.forge(), shop.target(3, minute=3), said("x"))
        assert done.warnings == ()
        assert server.api_url.endswith("/api/v3")


def test_the_token_shows_nowhere(shop: Shop, capfd: pytest.CaptureFixture[str]) -> None:
    token = shop.server.world.workflow_token(shop.repo, pull_requests="read", checks="read")
    forge = shop.forge_with(token)
    shop.server.faults.plant("GET", "*/pulls/2", drop=True, times=99)
    with pytest.raises(ForgeUnavailable) as broken:
        forge.pull_request(2)
    done = publish(forge, shop.target(), said("x"))

    shown = [
        repr(broken.value),
        str(broken.value),
        broken.value.hint,
        repr(forge),
        repr(vars(forge)),
        *done.warnings,
    ]
    assert token not in "".join([*shown, *capfd.readouterr()])
    assert all(entry.token == token for entry in shop.server.log.entries)


def test_how_many_requests_it_takes(shop: Shop) -> None:
    """A full run with fifty annotations and a hundred comments; then one with nothing to do."""
    for number in range(99):
        shop.pull.comment(f"me, too ({number})", by=shop.eve)
    target = shop.target()
    started = time.monotonic()
    open_check(shop.forge(), target)
    publish(shop.forge(), target, said("x", annotations=50))
    assert shop.server.log.count() <= 8

    shop.server.log.entries.clear()
    second = shop.target(2, minute=1)
    publish(shop.forge(), second, said("x", annotations=50))
    assert shop.server.log.count() <= 5
    assert time.monotonic() - started < 60, "nobody slept"


def test_time_spent_on_answers_that_never_came_is_told_and_limited(shop: Shop) -> None:
    """Each try waits for its time-out; that counts like a pause."""
    limits = RetryLimits(timeout_seconds=1, attempts=4, first_wait=0, total_seconds=2)
    shop.server.faults.plant("GET", "*/pulls/1", delay=1.5, times=9)

    with pytest.raises(ForgeUnavailable, match=r"did not answer in time\. The gate waited 2 s"):
        shop.forge(limits).pull_request(1)
