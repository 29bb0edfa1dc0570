"""Each git command that a run starts fails, one a run: nothing turns green and nothing stays open.

What the network loses is in `test_every_call_fails.py`; here the command itself ends badly. Of the
eight ways each command meets one. The entry runs in this process, as there are many runs.
"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

import pytest

from gateval.app.action.gate import run_action
from tests.helpers.github_shop import WORSE, GitHubShop
from tests.helpers.tiers import some_always

REAL = shlex.quote(shutil.which("git") or "git")
WAYS = {
    "fatal": "echo 'fatal: unable to read tree' >&2; exit 128",
    "without a word": "exit 128",
    "no": "exit 1",
    "SIGKILL": "kill -KILL $$",
    "SIGTERM": "kill -TERM $$",
    "SIGSEGV": "kill -SEGV $$",
    "half an answer": f'{REAL} "$@" | head -c 20; exit 128',
    "a full disk": "echo 'fatal: write error: No space left on device' >&2; exit 128",
}
AT_LEAST, AT_MOST = 20, 40
"""How many commands a plain run starts."""
RECORDS = 21
"""One that only keeps records, as those after it do."""


def plant(folder: Path, nth: int, way: str) -> Path:
    """Put a git there whose `nth` start (from 1) fails; returns the file with a line for each."""
    folder.mkdir(exist_ok=True)
    log = folder / "log"
    log.write_text("")
    here = shlex.quote(str(log))
    program = folder / "git"
    program.write_text(
        f'#!/bin/sh\necho "$$" >> {here}\n'
        f'[ "$(wc -l < {here})" = {nth} ] && {{ {way}; }}\nexec {REAL} "$@"\n'
    )
    program.chmod(0o755)
    return log


@pytest.mark.parametrize("way", some_always(WAYS, 4))
def test_every_command_fails_once(shop: GitHubShop, tmp_path: Path, way: str) -> None:
    first = 1 + list(WAYS).index(way)
    ended: list[int] = []
    nth = 0
    for nth in (RECORDS, *range(first, AT_MOST, len(WAYS))):
        pull = shop.open_pull(f"{WORSE}Take {len(ended)}.\n", f"change-{len(ended)}")
        job = shop.on_pull(pull)
        log = plant(tmp_path / "bin", nth, WAYS[way])
        environ = job.environ({}, {})
        environ["PATH"] = f"{log.parent}{os.pathsep}{environ['PATH']}"
        code = run_action(environ)
        if len(log.read_text().splitlines()) < nth:
            break
        ended.append(code)
        assert code in {1, 3}
        job.run_post()
        (check,) = shop.repo.checks("gateval", pull.head_sha)
        told = {1: "failure", 3: "action_required"}[code]
        assert (check.status, check.conclusion) == ("completed", told), nth
        assert len([one for one in pull.comments if one.user.login == "github-actions[bot]"]) == 1
    assert AT_LEAST < nth < AT_MOST
    assert ended[0] == 1
    assert set(ended) == {1, 3}, "records are lost without harm, what is measured is not"
