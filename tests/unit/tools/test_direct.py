"""The direct dependencies stand in `pyproject.toml` alone; what is compiled is made from there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.command import ROOT
from tools.direct import files

LOCKS = ROOT / "requirements"


def pins(path: Path) -> set[str]:
    return set(re.findall(r"^[\w.-]+==[^\s;]+", path.read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("name", ["run.in", "dev.in"])
def test_the_generated_files_are_up_to_date(name: str) -> None:
    assert files()[name] == (LOCKS / name).read_text("utf-8"), "run `make lock`"


def test_tests_run_on_what_users_get() -> None:
    assert pins(LOCKS / "run.txt") <= pins(LOCKS / "dev.txt")


@pytest.mark.parametrize("path", sorted(LOCKS.glob("*.in")), ids=lambda path: path.name)
def test_dependabot_learns_how_each_file_was_made(path: Path) -> None:
    """It takes the file of the same name, and these two options, from the file's text."""
    head = (LOCKS / f"{path.stem}.txt").read_text("utf-8")[:300]
    assert "--universal --python-version 3.11 " in head
    assert f"{path.name} -o {path.stem}.txt\n" in head
    assert "index-url" not in head


def test_included_groups_are_put_in_their_place(tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text(
        '[project]\ndependencies = ["b", "a>=1"]\n[dependency-groups]\n'
        'test = ["x"]\ndev = ["y", {include-group = "test"}]\n'
    )
    run, dev = files(project).values()
    assert run.splitlines()[1:] == ["a>=1", "b"]
    assert dev.splitlines()[1:] == ["-r run.in", "x", "y"]
