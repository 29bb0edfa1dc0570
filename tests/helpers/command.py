"""Runs the real command line in its own process, with an environment that holds no surprises."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from examples.demo import gate
from tests.helpers.forked import run_forked
from tests.helpers.repo import Repo

ROOT = Path(__file__).parent.parent.parent


def environment(repo: Repo, **extra: str) -> dict[str, str]:
    """The repository's clean environment, with a home that can be written, and `extra`."""
    home = repo.path.parent / "home"
    home.mkdir(exist_ok=True)
    return {**repo.env, "HOME": str(home), "TMPDIR": str(home), **extra}


def gateval(
    repo: Repo, *arguments: str, stdin: str | None = None, **extra: str
) -> subprocess.CompletedProcess[str]:
    """Run `gateval` in the repository and return how it ended."""
    return run_forked(
        arguments,
        repo.path,
        environment(repo, **extra),
        seconds=120,
        stdin=stdin or "",
        rights=gate()[0] == sys.executable,
    )


def start_gateval(
    repo: Repo, *arguments: str, command: Sequence[str] | None = None, **extra: str
) -> subprocess.Popen[str]:
    """Start `gateval`, or the `command` that is it, in the repository; return the process."""
    return subprocess.Popen(
        [*(command or gate()), *arguments],
        cwd=repo.path,
        env=environment(repo, **extra),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def candidate_processes(folder: Path) -> list[str]:
    """The process ids of candidates whose private folders lie below `folder`."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                content = (process / "environ").read_bytes()
            except OSError:
                continue
            if b"GATEVAL_CANDIDATE=" in content and os.fsencode(folder) in content:
                found.append(process.name)
    return found


def run_command(
    repo: Repo, words: Sequence[str], env: dict[str, str], seconds: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run a command line in the repository, for at most `seconds`, and return how it ended."""
    return subprocess.run(
        [*words],
        cwd=repo.path,
        env=env,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
