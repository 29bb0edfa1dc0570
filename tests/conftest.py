"""What holds for all tests: nothing is skipped with GATEVAL_TEST_ALL=1, signals are as usual."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.helpers.tiers import register_profiles
from tests.servers.github.fixture import github_server

__all__ = ["github_server"]


def pytest_configure() -> None:
    """Heed signals that a shell has its background jobs ignore, and `nohup` its command.

    `python3` is the interpreter itself: the shim of a version manager is a shell script, and
    programs that tests start by that name are thousands.
    """
    gc.disable()  # until all tests are collected: nothing of that is garbage
    own = str(Path(sys.base_prefix) / "bin")
    os.environ["PATH"] = os.pathsep.join((own, os.environ.get("PATH", os.defpath)))
    register_profiles()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Let two tests share a core: many of them wait for processes that they started.

    With `-n logical` they do not: unit tests start next to none.
    """
    return 2 * (os.cpu_count() or 1) if config.option.numprocesses == "auto" else None


def pytest_collection_finish() -> None:
    """Let the collector of garbage leave out modules and tests: they are for good, and many.

    At Python's usual pace it takes a fifth of the CPU time of the unit tests.
    """
    gc.freeze()
    gc.set_threshold(20_000, 50, 20)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure that names its reason."""
    report = yield
    if report.skipped and os.environ.get("GATEVAL_TEST_ALL") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, but GATEVAL_TEST_ALL is set: {call.excinfo}"
    return report
