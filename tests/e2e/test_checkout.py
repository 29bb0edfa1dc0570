"""The gate is started in a checkout that a pull request has prepared: its modules, its links."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.command import environment, gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import build_shop

PLANTED = "import os; os.write(2, b'PLANTED')\n"
MODULES = ("click", "yaml", "typing", "contextlib", "gc", "pydantic", "json", "asyncio", "git")


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = build_shop(tmp_path / "shop")
    for name in MODULES:
        repo.write(f"{name}.py", PLANTED)
    repo.commit()
    return repo


def started(shop: Repo, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*words, "validate"],
        cwd=shop.path,
        env=environment(shop),
        capture_output=True,
        text=True,
        check=False,
    )


def test_python_m_is_refused_before_it_imports_what_lies_there(shop: Repo) -> None:
    (shop.path / "contextlib.py").unlink()  # Python itself takes that one before our first line
    done = started(shop, sys.executable, "-m", "gateval")
    assert done.returncode == 2
    assert "PLANTED" not in done.stderr
    assert "Next: start `gateval`, or `python -P -m gateval`." in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        (str(Path(sys.executable).parent / "gateval"),),
        (sys.executable, "-P", "-m", "gateval"),
        (sys.executable, "-I", "-m", "gateval"),
        ("env", "PYTHONSAFEPATH=1", sys.executable, "-m", "gateval"),
    ],
    ids=["gateval", "-P", "-I", "PYTHONSAFEPATH"],
)
def test_the_other_ways_take_no_module_from_there(shop: Repo, words: tuple[str, ...]) -> None:
    done = started(shop, *words)
    assert "PLANTED" not in done.stderr
    assert done.returncode == 0, done.stderr


def test_results_do_not_follow_a_link_of_the_repository(shop: Repo, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    shop.link("out", str(outside))
    shop.commit()
    done = gateval(shop, "run", "support-eval", "--results", "out/deep")
    assert done.returncode == 2
    assert "out is a symbolic link" in done.stderr
    assert list(outside.iterdir()) == []
