from __future__ import annotations

from pathlib import Path

import pytest

from gateval.adapters.git.repository import GitRepository, open_repository
from tests.helpers.repo import Repo


@pytest.fixture
def found(repo: Repo) -> GitRepository:
    return open_repository(repo.path, repo.env)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Where to export to; does not exist yet."""
    return tmp_path / "exports/one"
