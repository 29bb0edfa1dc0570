"""What goes wrong on request, and the limits."""

from __future__ import annotations

import json

import github
import pytest
import requests

from tests.integration.servers.github.conftest import Connect, Shop
from tests.servers.github.server import GitHubServer

COMMENTS = "*/issues/1/comments"


def test_the_nth_request_fails_and_the_next_does_not(shop: Shop, connect: Connect) -> None:
    shop.server.faults.status("POST", COMMENTS, 502, nth=2)
    pull = connect(shop.token()).get_repo("acme/shop").get_pull(1)
    pull.create_issue_comment("one")
    with pytest.raises(github.GithubException, match="502"):
        pull.create_issue_comment("two")
    pull.create_issue_comment("three")
    assert [each.body for each in shop.pull.comments] == ["one", "three"]
    assert [each.status for each in shop.server.log.of("POST", COMMENTS)] == [201, 502, 201]


def test_an_answer_can_be_lost_after_the_deed(shop: Shop, connect: Connect) -> None:
    shop.server.faults.plant("POST", COMMENTS, drop=True, done=True)
    pull = connect(shop.token()).get_repo("acme/shop").get_pull(1)
    with pytest.raises(requests.ConnectionError):
        pull.create_issue_comment("done")
    assert [each.body for each in shop.pull.comments] == ["done"]
    assert shop.server.log.of("POST")[0].status == 0


def test_a_connection_is_dropped_and_json_is_garbled(shop: Shop, connect: Connect) -> None:
    shop.server.faults.plant("POST", COMMENTS, drop=True)
    shop.server.faults.garbled("POST", COMMENTS, nth=2)
    pull = connect(shop.token()).get_repo("acme/shop").get_pull(1)
    with pytest.raises(requests.ConnectionError):
        pull.create_issue_comment("dropped")
    with pytest.raises(json.JSONDecodeError):
        pull.create_issue_comment("garbled")
    assert shop.pull.comments == []


def test_a_slow_answer_outlasts_the_client(shop: Shop) -> None:
    shop.server.faults.plant("GET", "*", delay=30)
    with pytest.raises(requests.Timeout):
        requests.get(f"{shop.server.api_url}/repos/acme/shop", timeout=0.1)


def test_the_world_moves_in_the_middle_of_a_run(shop: Shop, connect: Connect) -> None:
    later = shop.repo.commit("Later", on="better")
    shop.server.faults.plant("GET", "*/pulls/1", nth=2, then=lambda: shop.pull.push(later))
    repo = connect(shop.token()).get_repo("acme/shop")
    assert repo.get_pull(1).head.sha != later
    assert repo.get_pull(1).head.sha == later


def test_a_fault_that_hits_nothing_fails_its_test(shop: Shop) -> None:
    with (
        pytest.raises(AssertionError, match=r"planted on GET /nowhere .* hit nothing"),
        GitHubServer() as other,
    ):
        other.faults.status("GET", "/nowhere", 500)


@pytest.mark.parametrize("retry_after", [None, 7])
def test_a_secondary_limit_may_say_how_long_to_wait(
    shop: Shop, connect: Connect, retry_after: int | None
) -> None:
    shop.server.faults.secondary_limit("GET", "*/pulls/1", retry_after=retry_after)
    repo = connect(shop.token()).get_repo("acme/shop")
    with pytest.raises(github.RateLimitExceededException) as refused:
        repo.get_pull(1)
    told = (refused.value.headers or {}).get("retry-after")
    assert told == (str(retry_after) if retry_after else None)


def test_too_much_content_meets_the_secondary_limit(shop: Shop, connect: Connect) -> None:
    shop.server.limits.content_per_minute = 3
    pull = connect(shop.token()).get_repo("acme/shop").get_pull(1)
    for number in range(3):
        pull.create_issue_comment(f"{number}")
    with pytest.raises(github.RateLimitExceededException) as refused:
        pull.create_issue_comment("one too many")
    assert (refused.value.headers or {})["retry-after"] == "60"


def test_the_primary_limit_counts_down_and_comes_back(shop: Shop, connect: Connect) -> None:
    shop.server.limits.hourly = 3
    client = connect(shop.token())
    for _ in range(3):
        client.get_repo("acme/shop")
    assert client.get_rate_limit().rate.remaining == 0
    with pytest.raises(github.RateLimitExceededException, match="API rate limit exceeded") as late:
        client.get_repo("acme/shop")
    headers = late.value.headers or {}
    assert headers["x-ratelimit-remaining"] == "0"
    reset = int(headers["x-ratelimit-reset"])
    shop.server.limits.now = lambda: reset - 1
    with pytest.raises(github.RateLimitExceededException):
        client.get_repo("acme/shop")
    shop.server.limits.now = lambda: reset
    client.get_repo("acme/shop")


def test_what_is_known_already_costs_nothing(shop: Shop) -> None:
    url = f"{shop.server.api_url}/repos/acme/shop"
    head = {"Authorization": f"Bearer {shop.token()}"}
    first = requests.get(url, headers=head, timeout=10)
    again = requests.get(url, headers=head | {"If-None-Match": first.headers["ETag"]}, timeout=10)
    assert (again.status_code, again.content) == (304, b"")
    left = [answer.headers["X-RateLimit-Remaining"] for answer in (first, again)]
    assert left[0] == left[1] == "999"


def test_enterprise_has_its_own_address_and_no_limits(shop: Shop) -> None:
    world = shop.server.world
    with GitHubServer(world, enterprise=True) as enterprise:
        assert enterprise.api_url == f"{enterprise.url}/api/v3"
        client = github.Github(base_url=enterprise.api_url, auth=github.Auth.Token(shop.token()))
        with client:
            repo = client.get_repo("acme/shop")
            assert repo.url.startswith(enterprise.api_url)
            assert repo.html_url == f"{enterprise.url}/acme/shop"
            with pytest.raises(github.GithubException, match="not enabled"):
                client.get_rate_limit()
        answer = requests.get(f"{enterprise.api_url}/repos/acme/shop", timeout=10)
        assert "X-RateLimit-Limit" not in answer.headers
        assert requests.get(f"{enterprise.url}/repos/acme/shop", timeout=10).status_code == 404
