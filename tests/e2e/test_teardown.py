"""Runs that are ended from outside, at random moments: nothing of their candidates stays.

GATEVAL_TEARDOWN_RUNS says how often per signal; the bar is 20.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from examples.demo import WITHOUT_RIGHTS
from tests.helpers import stored
from tests.helpers.command import start_gateval
from tests.helpers.isolation import open_folder, open_python, supervisors
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, EVAL, FIXTURES, build_shop
from tests.helpers.tiers import some_always

RUNS = int(os.environ.get("GATEVAL_TEARDOWN_RUNS", "3"))
AFTER_SECONDS = 30
STARTED_SECONDS = 60

OWN_USERS = [sys.executable, "-P", "-m", "gateval"]
SAME_USER = [*(WITHOUT_RIGHTS if os.geteuid() == 0 else ()), *OWN_USERS]

CANDIDATE = """\
import json, os, signal, sys, time
question = json.load(sys.stdin)["prompt"]
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open(os.environ["HOME"] + "/left", "w").close()
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(120)
        os._exit(0)
if "refund" in question:
    time.sleep(120)
print("Hello")
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = build_shop(tmp_path_factory.mktemp("teardown") / "shop")
    command = f"[{open_python()}, -S, daemons.py]"
    runtime = f"  runtime: {{type: command, command: {command}}}\n  tools:"
    repo.write("agents/support.yaml", AGENT.replace("  tools:", runtime))
    repo.write("agents/daemons.py", CANDIDATE)
    greetings = FIXTURES.split("---\n")[1]
    more = [greetings.replace("name: greets", f"name: greets-{n}") for n in range(8)]
    repo.write("evals/more.yaml", "---\n".join(more))
    repo.write("evals/support-eval.yaml", EVAL + "  execution: {parallel: 3}\n")
    repo.commit()
    return repo


def marked(token: str) -> list[str]:
    """The command lines of candidates whose environment holds `token`."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                environ = (process / "environ").read_bytes()
                if b"GATEVAL_CANDIDATE=" in environ and token.encode() in environ:
                    found.append((process / "cmdline").read_bytes().decode())
            except OSError:
                continue
    return found


def end_one(
    shop: Repo, folder: Path, command: list[str], number: signal.Signals, delay: float
) -> tuple[bool, list[str]]:
    """Start a run, signal its gate `delay` seconds after its first candidate; if negative, earlier.

    Return whether candidates had started by then, and what was found to be wrong.
    """
    temporary, results, token = folder / "tmp", folder / "out", f"token-{uuid4().hex}"
    temporary.mkdir(parents=True)
    extra = {"TMPDIR": str(temporary), "LC_TEARDOWN": token}
    arguments = ("run", "support-eval", "--results", str(results))
    run = start_gateval(shop, *arguments, command=command, **extra)
    deadline = time.monotonic() + (STARTED_SECONDS if delay > 0 else -delay)
    busy = False
    while time.monotonic() < deadline and not busy:
        time.sleep(0.01)
        busy = delay > 0 and bool(marked(token))
    time.sleep(max(delay, 0))
    before = finished(results)
    run.send_signal(number)
    try:
        _, said = run.communicate(timeout=90)
    except subprocess.TimeoutExpired:
        run.kill()
        return busy, [f"the gate did not end: {run.communicate()}"]
    wrong = []
    ready = delay > 0  # before that, Python itself may end in its own ways
    if ready and number is not signal.SIGKILL and run.returncode != 130:
        wrong.append(f"exit code {run.returncode}: {said}")
    deadline = time.monotonic() + AFTER_SECONDS
    while left(token, temporary) and time.monotonic() < deadline:
        time.sleep(0.1)
    wrong += left(token, temporary)
    if not before <= finished(results):
        wrong.append(f"finished trials were lost: {before - finished(results)}")
    return busy, wrong


def left(token: str, temporary: Path) -> list[str]:
    """What is still there of a run whose folders lie in `temporary`."""
    return [*marked(token), *(str(path) for path in temporary.iterdir())]


def finished(results: Path) -> set[str]:
    """The trials that are whole on disk."""
    return {json.dumps(one["key"], sort_keys=True) for one in stored.trials(results)}


@pytest.mark.parametrize("own_users", [True, False], ids=["own users", "same user"])
@pytest.mark.parametrize("number", some_always([signal.SIGKILL, signal.SIGTERM, signal.SIGINT], 3))
def test_a_run_ended_at_a_random_moment_leaves_nothing(
    shop: Repo, number: signal.Signals, *, own_users: bool
) -> None:
    command = OWN_USERS if own_users else SAME_USER
    chance = random.Random(f"{number} {own_users}")
    delays = [chance.uniform(0, 1) * (-0.5 if n % 3 == 2 else 1) for n in range(RUNS)]
    with open_folder() as folder, ThreadPoolExecutor(3) as together:
        ends = together.map(
            lambda n: end_one(shop, folder / str(n), command, number, delays[n]), range(RUNS)
        )
        busy, wrong = zip(*ends, strict=True)
    assert [what for what in wrong if what] == []
    assert any(busy), "no run got as far as to start candidates"


def test_where_supervisor_and_wardens_are_killed_the_gate_does_their_work(shop: Repo) -> None:
    token = f"token-{uuid4().hex}"
    with open_folder() as folder:
        temporary = folder / "tmp"
        temporary.mkdir()
        extra = {"TMPDIR": str(temporary), "LC_TEARDOWN": token}
        arguments = ("run", "support-eval", "--results", str(folder / "out"))
        run = start_gateval(shop, *arguments, command=SAME_USER, **extra)
        deadline = time.monotonic() + STARTED_SECONDS
        while not marked(token) and time.monotonic() < deadline:
            time.sleep(0.01)
        for _ in range(5):
            for pid in supervisors(run.pid):
                os.kill(pid, signal.SIGKILL)
        run.communicate(timeout=60)
        assert run.returncode == 3
        assert left(token, temporary) == []
