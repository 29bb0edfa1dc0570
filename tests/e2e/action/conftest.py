"""One shop on one GitHub for each test, and a pull request whose run can be disturbed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.github_shop import SAME, GitHubShop
from tests.helpers.shop import SCRIPT
from tests.servers.github.server import GitHubServer
from tests.servers.github.state.pull import Pull

SLOW = SCRIPT.replace("reply: Hello! How can I help?", "reply: Hello!\n    latencySeconds: 60")


@pytest.fixture
def shop(github_server: GitHubServer, tmp_path: Path) -> GitHubShop:
    return GitHubShop(github_server, tmp_path)


@pytest.fixture
def slow(shop: GitHubShop) -> Pull:
    """A pull request whose evals take a minute."""
    shop.work.branch("change", "main")
    shop.work.write(".gateval/scripted/support.yaml", SLOW)
    return shop.open_pull(SAME)
