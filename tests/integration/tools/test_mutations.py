"""Mutants are killed by tests that look at what changed, and survive others."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.helpers.command import ROOT


@pytest.mark.parametrize(
    ("tests", "killed"),
    [("tests/unit/domain/statistics/test_status.py", True), ("tests/unit/tools/test_direct.py", False)],
)  # fmt: skip
def test_mutants_of_one_function(tests: str, killed: bool) -> None:
    rule = "gateval.domain.statistics.walk:deterministic"
    command = [sys.executable, "-m", "tools.mutations", "--only", rule, "--tests", tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("'killed'" in done.stdout.splitlines()[-1]) == killed
    assert ("survived" in done.stdout) != killed
