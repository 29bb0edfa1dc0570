"""The environment with other people's agents and clients in it, which `make frameworks` sets up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FRAMEWORKS = ROOT / ".venv" / "frameworks"
PROGRAMS = FRAMEWORKS / "bin"


def need_frameworks() -> None:
    """Skip what needs them where they are not installed; in CI that is a failure."""
    if (FRAMEWORKS / "vercel-ai" / "node_modules").exists():
        return
    if os.environ.get("GATEVAL_TEST_ALL") == "1":
        pytest.fail("the frameworks are not installed: run `make frameworks`")
    pytest.skip("the frameworks are not installed: run `make frameworks`")
