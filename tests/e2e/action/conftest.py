"""One shop on one GitHub for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.github_shop import GitHubShop
from tests.servers.github.server import GitHubServer


@pytest.fixture
def shop(github_server: GitHubServer, tmp_path: Path) -> GitHubShop:
    return GitHubShop(github_server, tmp_path)
