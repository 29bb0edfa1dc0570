"""Root that wishes for candidates without users of their own: refused, and nothing is started."""

from __future__ import annotations

import os
import sys

import pytest

from tests.helpers import stored
from tests.helpers.command import start_gateval
from tests.helpers.isolation import open_folder, open_python
from tests.helpers.shop import AGENT, build_shop

GATE = [sys.executable, "-P", "-m", "gateval"]


@pytest.mark.skipif(os.geteuid() != 0, reason="it is about root")
@pytest.mark.parametrize("users", ["none", ""])
def test_no_candidate_is_root(users: str) -> None:
    with open_folder() as folder:
        shop = build_shop(folder / "shop")
        runtime = f"  runtime: {{type: command, command: [{open_python()}, -S, who.py]}}\n  tools:"
        shop.write("agents/support.yaml", AGENT.replace("  tools:", runtime))
        shop.write("agents/who.py", "import os; print('Hello from', os.getuid())\n")
        shop.commit()
        results = folder / "out"
        arguments = ("run", "support-eval", "--results", str(results))
        run = start_gateval(shop, *arguments, command=GATE, GATEVAL_CANDIDATE_USERS=users)
        said = "".join(run.communicate(timeout=60))
        started = stored.log(results) if results.exists() else ""
    assert "Hello from 0" not in started
    if users:
        assert run.returncode == 2, said
        assert "GATEVAL_CANDIDATE_USERS is `none`, and the gate runs as root" in said
        assert started == ""
    else:
        assert "Hello from" in started
