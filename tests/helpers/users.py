"""The gate as root, whose candidates get users of their own, and as somebody with fewer rights."""

from __future__ import annotations

import os
import shutil
import sys
from typing import NamedTuple

import pytest

from examples.demo import WITHOUT_RIGHTS
from gateval.candidates.isolation.visible_paths import passable


class Who(NamedTuple):
    """How the gate is started, so that candidates get users of their own or run as the gate's."""

    command: list[str]
    path: str


PROGRAM = [sys.executable, "-P", "-m", "gateval"]
SAME_USER = Who([*WITHOUT_RIGHTS, *PROGRAM] if os.geteuid() == 0 else PROGRAM, os.environ["PATH"])


@pytest.fixture(params=["own users", "same user"])
def who(request: pytest.FixtureRequest) -> Who:
    if request.param == "same user":
        return SAME_USER
    if os.geteuid() or not passable(shutil.which("python3", path=os.defpath) or ""):
        pytest.skip("users of their own take root, and a python3 that they can run")
    return Who(PROGRAM, os.defpath)
