"""The pytest fixtures. They import the server only when a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.servers.github.server import GitHubServer


@pytest.fixture
def github_server() -> Iterator[GitHubServer]:
    """GitHub on loopback, empty. What breaks its contract fails the test at the end."""
    from tests.servers.github.server import GitHubServer

    with GitHubServer() as server:
        yield server
