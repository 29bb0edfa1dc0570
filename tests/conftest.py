"""What holds for all tests: nothing is skipped with GATEVAL_TEST_ALL=1, signals are as usual."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import sys
import venv
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.helpers.tiers import draw, register_profiles
from tests.servers.github.fixture import github_server

__all__ = ["github_server"]


def pytest_configure() -> None:
    """Heed signals that a shell has its background jobs ignore, and `nohup` its command."""
    gc.disable()  # until all tests are collected: nothing of that is garbage
    _put_bare_python_first()
    register_profiles()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _put_bare_python_first() -> None:
    """Have `python3` be an interpreter without packages, which starts in a third of the time.

    Programs that tests start by that name are thousands. The shim of a version manager is a shell
    script, and what is installed beside the interpreter itself may be loaded at each start.
    """
    bare = Path(sys.prefix) / "bare"
    if not bare.exists() and sys.prefix != sys.base_prefix:  # which may be nobody's to write to
        passing = bare.with_name(f"bare-{os.getpid()}")
        venv.create(passing, symlinks=True)
        with contextlib.suppress(OSError):  # somebody else was quicker
            passing.rename(bare)
        shutil.rmtree(passing, ignore_errors=True)
    folders = (str(bare / "bin"), str(Path(sys.base_prefix) / "bin"))
    os.environ["PATH"] = os.pathsep.join((*folders, os.environ.get("PATH", os.defpath)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Let two tests share a core: many of them wait for processes that they started.

    With `-n logical` they do not: unit tests start next to none.
    """
    return 2 * (os.cpu_count() or 1) if config.option.numprocesses == "auto" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have one worker run all that takes an installation for a session, before any can be stolen.

    xdist gives each worker tests that follow each other, and workers that are done the last of them.
    """
    draw(items)
    items.sort(key=lambda item: "beside_runner" not in item.nodeid)


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
