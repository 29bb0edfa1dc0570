"""Waiting for what happens in other processes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.helpers.command import candidate_processes
from tests.helpers.program_shop import ProgramShop
from tests.servers.github.state.pull import Pull


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until something holds; fail when it does not within the time."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


def wait_for_agent(shop: ProgramShop, pull: Pull, run: subprocess.Popen[str], folder: Path) -> None:
    """Wait until the check run is in progress and an Agent runs whose files lie below `folder`."""

    def runs() -> bool:
        assert run.poll() is None, run.communicate(timeout=5)
        checks = shop.repo.checks("gateval", pull.head_sha)
        return bool(checks) and bool(candidate_processes(folder))

    wait_until(runs)
