"""The gate as root, whose candidates get users of their own, and as somebody with fewer rights."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import NamedTuple

import pytest

from gateval.candidates.isolation.visible_paths import passable
from tests.helpers.command import environment
from tests.helpers.forked import run_forked
from tests.helpers.repo import Repo


class Who(NamedTuple):
    """How the gate is started, so that candidates get users of their own or run as the gate's."""

    rights: bool
    path: str

    def run(self, repo: Repo, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run `gateval` in the repository to its end."""
        env = environment(repo, PATH=self.path, **extra)
        return run_forked(arguments, repo.path, env, seconds=300, rights=self.rights)


SAME_USER = Who(os.geteuid() != 0, os.environ["PATH"])


SAME_USER_TOO = pytest.param(
    "same user", marks=() if os.geteuid() else (pytest.mark.exhaustive,), id="same user"
)
"""Nightly where the same is tested with users of their own in each run."""

BOTH_USERS = pytest.mark.parametrize("who", ["own users", "same user"], indirect=True)
"""For what differs between them."""


@pytest.fixture(params=["own users", SAME_USER_TOO])
def who(request: pytest.FixtureRequest) -> Who:
    if request.param == "same user":
        return SAME_USER
    if os.geteuid() or not passable(shutil.which("python3", path=os.defpath) or ""):
        pytest.skip("users of their own take root, and a python3 that they can run")
    return Who(rights=True, path=os.defpath)
