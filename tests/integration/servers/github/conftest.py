"""A small shop with one pull request, and PyGithub as the client that knows nothing of the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import github
import pytest

from tests.servers.github.server import GitHubServer
from tests.servers.github.state.people import User
from tests.servers.github.state.pull import Pull
from tests.servers.github.state.repository import Repository

EVERYTHING = {
    "checks": "write",
    "contents": "read",
    "pull_requests": "write",
    "statuses": "write",
}

Connect = Callable[[str | None], github.Github]


@dataclass(frozen=True)
class Shop:
    """acme/shop: `ada` maintains it, `eve` may read; pull request 1 is ada's."""

    server: GitHubServer
    repo: Repository
    ada: User
    eve: User
    pull: Pull

    def token(self, **permissions: str) -> str:
        """Return a GITHUB_TOKEN; without arguments one that a gate would have."""
        return self.server.world.workflow_token(self.repo, **(permissions or EVERYTHING))


@pytest.fixture
def shop(github_server: GitHubServer) -> Shop:
    """The shop."""
    world = github_server.world
    repo = world.repository("acme/shop")
    ada, eve = world.user("ada"), world.user("eve")
    repo.role(ada, "maintain")
    repo.push("better", repo.commit("Better", on="main"), by=ada)
    return Shop(github_server, repo, ada, eve, repo.open_pull("better", by=ada, title="Better"))


@pytest.fixture
def connect(shop: Shop) -> Iterator[Connect]:
    """Give a PyGithub client for a token; it neither retries nor waits."""
    clients: list[github.Github] = []

    def connect(token: str | None) -> github.Github:
        client = github.Github(
            auth=github.Auth.Token(token) if token else None,
            base_url=shop.server.api_url,
            retry=None,
            seconds_between_requests=0,
            seconds_between_writes=0,
        )
        clients.append(client)
        return client

    yield connect
    for client in clients:
        client.close()
