"""Who may do what, and how a refusal looks."""

from __future__ import annotations

import http.client

import github
import pytest

from tests.integration.servers.github.conftest import Connect, Shop


def _accepted(refused: github.GithubException) -> str | None:
    return (refused.headers or {}).get("x-accepted-github-permissions")


def test_a_missing_permission_is_named(shop: Shop, connect: Connect) -> None:
    reader = connect(shop.token(pull_requests="read", contents="read")).get_repo("acme/shop")
    pull = reader.get_pull(1)
    with pytest.raises(github.GithubException, match="not accessible by integration") as refused:
        pull.create_issue_comment("no")
    assert refused.value.status == 403
    accepted = "issues=write; pull_requests=write"
    assert _accepted(refused.value) == accepted
    with pytest.raises(github.GithubException) as refused:
        reader.create_check_run("gateval", shop.pull.head_sha)
    assert _accepted(refused.value) == "checks=write"
    assert (shop.pull.comments, shop.repo.check_runs) == ([], {})


@pytest.mark.parametrize("permission", ["issues", "pull_requests"])
def test_either_permission_lets_comment(shop: Shop, connect: Connect, permission: str) -> None:
    pull = connect(shop.token(**{permission: "write"})).get_repo("acme/shop").get_pull(1)
    assert pull.create_issue_comment("yes").body == "yes"


def test_a_private_repository_hides_from_strangers(shop: Shop, connect: Connect) -> None:
    secret = shop.server.world.repository("acme/secret", private=True)
    for token in (None, shop.token(), shop.server.world.user_token(shop.eve)):
        with pytest.raises(github.UnknownObjectException):
            connect(token).get_repo("acme/secret")
    secret.push("x", secret.commit("X", on="main"), by=shop.ada)
    secret.open_pull("x", by=shop.ada)
    own = connect(shop.server.world.workflow_token(secret, contents="read"))
    repo = own.get_repo("acme/secret")
    with pytest.raises(github.GithubException, match="not accessible") as refused:
        repo.get_pull(1)
    assert _accepted(refused.value) == "pull_requests=read"


def test_an_expired_token_is_a_bad_credential(shop: Shop, connect: Connect) -> None:
    token = shop.token()
    client = connect(token)
    client.get_repo("acme/shop")
    shop.server.world.expire(token)
    with pytest.raises(github.BadCredentialsException):
        client.get_repo("acme/shop")


def test_a_client_without_a_name_is_turned_away(shop: Shop) -> None:
    connection = http.client.HTTPConnection(shop.server.url.removeprefix("http://"))
    connection.request("GET", "/repos/acme/shop")
    answer = connection.getresponse()
    assert (answer.status, b"User-Agent" in answer.read()) == (403, True)
    connection.close()


def test_an_installation_has_no_account_of_its_own(shop: Shop, connect: Connect) -> None:
    workflow = connect(shop.token())
    with pytest.raises(github.GithubException, match="not accessible by integration") as refused:
        _ = workflow.get_user().login
    assert refused.value.status == 403
    with pytest.raises(github.GithubException, match="JSON web token"):
        workflow.requester.requestJsonAndCheck("GET", "/app")
    assert workflow.get_user("github-actions[bot]").id == 41898282
    assert connect(shop.server.world.user_token(shop.eve)).get_user().login == "eve"


def test_roles_are_told_in_both_ways(shop: Shop, connect: Connect) -> None:
    world, repo = shop.server.world, shop.repo
    repo.role(world.user("tom"), "triage")
    repo.role(world.user("cus"), "release-captain", "maintain")
    seen = connect(shop.token()).get_repo("acme/shop")
    told = {
        name: (seen.get_collaborator_permission(name), seen.get_collaborator_role_name(name))
        for name in ("ada", "eve", "tom", "cus")
    }
    assert told == {
        "ada": ("write", "maintain"),
        "eve": ("read", "read"),
        "tom": ("read", "triage"),
        "cus": ("write", "release-captain"),
    }
    assert seen.has_in_collaborators("tom")
    assert not seen.has_in_collaborators("eve")
    with pytest.raises(github.GithubException, match="is not a user"):
        seen.get_collaborator_role_name("github-actions[bot]")


def test_labels_take_triage_and_no_less(shop: Shop, connect: Connect) -> None:
    world = shop.server.world
    shop.repo.role(world.user("tom"), "triage")
    issue = connect(world.user_token(world.user("tom"))).get_repo("acme/shop").get_issue(1)
    issue.add_to_labels("by-tom")
    issue = connect(world.user_token(shop.eve)).get_repo("acme/shop").get_issue(1)
    with pytest.raises(github.GithubException):
        issue.add_to_labels("by-eve")
    assert [label.name for label in shop.pull.labels] == ["by-tom"]
