"""Follows docs/getting-started.md to the letter, in a fresh repository.

Its fences say what is done with them: `file=PATH` is written there, `sh run` is run and must exit
with 0 or with what `exit=N` says, and each line of a `text output` block must be in what the
commands before it printed. The page's picture is of the report that its failing check wrote.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.helpers.pictures import picture_of_page
from tests.helpers.repo import Repo
from tests.helpers.tiers import some_always

PAGE = Path(__file__).parents[2] / "docs" / "getting-started.md"
FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """A fenced block: the words after the backticks, and what is in it."""

    words: tuple[str, ...]
    body: str

    def option(self, name: str) -> str | None:
        """The value of `name=VALUE`."""
        values = [word.partition("=")[2] for word in self.words if word.startswith(f"{name}=")]
        return values[0] if values else None


def _blocks() -> list[Block]:
    found = FENCE.finditer(PAGE.read_text("utf-8"))
    return [Block(tuple(match["info"].split()), match["body"]) for match in found]


def _run(repo: Repo, script: str) -> subprocess.CompletedProcess[str]:
    bin_folder = str(Path(sys.executable).parent)
    env = repo.env | {"PATH": f"{bin_folder}{os.pathsep}{repo.env['PATH']}"}
    return subprocess.run(
        ["sh", "-eu", "-c", script],
        cwd=repo.path,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )


def _is_what_the_picture_shows(repo: Repo, folder: Path) -> None:
    (report,) = repo.path.glob(".gateval/results/*/report.html")
    text = picture_of_page(report, "getting-started", folder, width=900, height=620)
    assert "no-ticket-numbers passed before and fails now" in text
    assert str(folder) not in text


@pytest.mark.parametrize("branch", some_always(["trunk", "main"], 2))
def test_every_step_of_the_page_does_what_it_says(tmp_path: Path, branch: str) -> None:
    repo = Repo(tmp_path / "repository")
    repo.git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
    printed = ""
    for block in _blocks():
        path = block.option("file")
        if path is not None:
            repo.write(path, block.body)
        elif block.words[:2] == ("sh", "run"):
            done = _run(repo, block.body)
            printed = done.stdout
            assert done.returncode == int(block.option("exit") or 0), f"{block.body}\n{printed}"
            if block.option("exit") == "1":
                _is_what_the_picture_shows(repo, tmp_path)
        elif block.words == ("text", "output"):
            missing = [line for line in block.body.splitlines() if line not in printed]
            assert not missing, printed
        elif block.words == ("sh",):
            assert block.body.startswith("pipx install "), block.body
        else:
            raise AssertionError(f"nothing is known about a block ```{' '.join(block.words)}")


def test_the_page_shows_a_change_that_fails_and_one_that_passes() -> None:
    exits = [block.option("exit") for block in _blocks() if block.body == "gateval check\n"]
    assert exits == ["1", None]
