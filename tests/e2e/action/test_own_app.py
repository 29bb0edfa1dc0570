"""An App of one's own reports: its check is its own, and the default token's comment gives way."""

from __future__ import annotations

from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.runner import Job
from tests.servers.github.state.people import App
from tests.servers.github.state.pull import Pull

FULL = {"contents": "write", "pull_requests": "write", "checks": "write"}


def dispatched(shop: GitHubShop, app: App) -> Job:
    """A maintainer's run with the App's token."""
    return shop.on_dispatch(token=shop.server.world.app_token(app, shop.repo, **FULL))


def by_bots(pull: Pull) -> list[str]:
    """Who of the bots has a comment there."""
    return [one.user.login for one in pull.comments if one.user.login.endswith("[bot]")]


def test_switching_from_the_default_token_leaves_one_comment(shop: GitHubShop) -> None:
    app = shop.server.world.app("acme-evals")
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action().code == 1
    pull.comment(pull.comments[0].body, by=shop.ada)
    assert by_bots(pull) == ["github-actions[bot]"]
    number = {"pull-request": str(pull.number)}
    assert dispatched(shop, app).run_action(inputs=number).code == 1
    assert by_bots(pull) == ["acme-evals[bot]"]
    assert dispatched(shop, app).run_action(inputs=number).code == 1
    assert by_bots(pull) == ["acme-evals[bot]"]
    assert [one.user.login for one in pull.comments if one.user.login == "ada"] == ["ada"]


def test_what_a_job_of_the_pull_request_writes_is_not_the_apps_check(shop: GitHubShop) -> None:
    """Branch protection asks for the App's; the other is forged with the job's own token."""
    app = shop.server.world.app("acme-evals")
    pull = shop.open_pull(WORSE)
    ended = dispatched(shop, app).run_action(inputs={"pull-request": str(pull.number)})
    assert ended.code == 1, ended.errors
    (own,) = shop.repo.checks("gateval", pull.head_sha)
    shop.repo.add_check("gateval", pull.head_sha, external_id=own.external_id)
    again = dispatched(shop, app).run_action(inputs={"pull-request": str(pull.number)})
    assert again.code == 1, again.errors
    by_app = [
        one.conclusion for one in shop.repo.checks("gateval", pull.head_sha) if one.app == app
    ]
    assert set(by_app) == {"failure"}


def test_the_default_token_leaves_an_apps_comment_alone(shop: GitHubShop) -> None:
    app = shop.server.world.app("acme-evals")
    pull = shop.open_pull(SAME)
    number = {"pull-request": str(pull.number)}
    assert dispatched(shop, app).run_action(inputs=number).code == 0
    assert shop.on_pull(pull).run_action().code == 0
    assert sorted(by_bots(pull)) == ["acme-evals[bot]", "github-actions[bot]"]
