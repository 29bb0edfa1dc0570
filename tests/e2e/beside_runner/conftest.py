"""Runners beside which the gate runs, and a shop for each test."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from tests.helpers.beside_runner import ORDINARY, Runner
from tests.helpers.isolation import open_folder
from tests.helpers.program_shop import ProgramShop
from tests.servers.github.server import GitHubServer

ROOT = os.geteuid() == 0


@pytest.fixture(scope="session")
def ordinary() -> Iterator[Runner]:
    """The runner of an ordinary user."""
    if sys.platform != "linux":
        pytest.skip("the action measures on Linux only")
    with open_folder() as folder:
        yield Runner(folder, ORDINARY if ROOT else None)


@pytest.fixture(scope="session")
def roots(ordinary: Runner) -> Iterator[Runner]:
    """The runner of root, with the same tool cache: to install takes long."""
    if not ROOT:
        pytest.skip("only root can start a runner as root")
    with open_folder() as folder:
        yield Runner(folder, None, ordinary.tool_cache)


@pytest.fixture(params=["ordinary", pytest.param("roots", marks=pytest.mark.exhaustive)])
def runner(request: pytest.FixtureRequest) -> Runner:
    """One of the two, root's each night; `BOTH_RUNNERS` asks for both in each run."""
    found: Runner = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def shop(github_server: GitHubServer, ordinary: Runner) -> Iterator[ProgramShop]:
    """A shop whose Agent tries to read the ordinary runner's credentials."""
    with open_folder() as folder:
        yield ProgramShop(github_server, folder, ordinary.home / ".credentials")
