"""Whether candidates get users of their own, and what happens where they cannot."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.beside_runner.waiting import wait_for_agent, wait_until
from tests.helpers.beside_runner import ORDINARY, Runner
from tests.helpers.command import candidate_processes
from tests.helpers.isolation import open_folder
from tests.helpers.program_shop import SLOWLY, ProgramShop
from tests.helpers.runner import Ended
from tests.helpers.tiers import some_always


@pytest.fixture(scope="module")
def trusted(ordinary: Runner) -> Iterator[Runner]:
    """A runner of an ordinary user who may use `sudo` without a password.

    Where the tests are not root's, the machine's own `sudo` has to let them, as on GitHub's runners.
    """
    with open_folder() as folder:
        runner = Runner(folder, ordinary.user, ordinary.tool_cache)
        runner.allow_sudo()
        yield runner


@pytest.fixture
def engine() -> Iterator[Path]:
    """The socket of a container engine that everybody may open."""
    with open_folder() as folder, socket.socket(socket.AF_UNIX) as listening:
        place = folder / "engine.sock"
        listening.bind(str(place))
        place.chmod(0o666)
        yield place


def answers(ended: Ended) -> str:
    """What the Agent said."""
    return (ended.results / "results.v1.json").read_text()


def test_with_sudo_each_candidate_is_a_user_of_its_own(
    shop: ProgramShop, trusted: Runner, engine: Path
) -> None:
    pull = shop.change()
    job = shop.on_pull(pull)
    ended = trusted.run_main(job, DOCKER_HOST=f"unix://{engine}", OPENAI_API_KEY="sk-canary")
    assert ended.code == 0, ended.log + ended.errors
    info = json.loads(answers(ended))["info"]
    assert info["isolation"].startswith("own user per candidate")
    users = set(map(int, re.findall(r"I am user (\d+), secret kept", answers(ended))))
    assert users
    assert users.isdisjoint({0, os.geteuid(), ORDINARY})
    own = trusted.user if trusted.user is not None else os.geteuid()
    folders = [path for path in job.workspace.rglob("*") if path.is_dir()]
    assert {path.lstat().st_uid for path in folders} == {own}, "it can be deleted by its owner"
    assert trusted.run_post(job).code == 0
    if trusted.user is not None:
        log = trusted.sudo_log.read_text()
        assert len(log.splitlines()) == 2, "a probe, and the gate"
        assert job.token not in log
        assert "sk-canary" not in log


@pytest.mark.parametrize("number", some_always([signal.SIGKILL, signal.SIGINT], 2))
def test_a_gate_of_root_is_cancelled_by_a_runner_that_is_not(
    shop: ProgramShop, trusted: Runner, number: signal.Signals
) -> None:
    pull = shop.change(SLOWLY)
    job = shop.on_pull(pull)
    run = trusted.start(job)
    wait_for_agent(shop, pull, run, job.folder)
    run.send_signal(number)
    ended = job.end(run, timeout=60)
    assert ended.code == (130 if number is signal.SIGINT else -number)
    wait_until(lambda: shop.conclusions(pull.head_sha) == ["cancelled"])
    wait_until(lambda: candidate_processes(job.folder) == [])
    assert trusted.run_post(job).code == 0
    assert shop.conclusions(pull.head_sha) == ["cancelled"]


def test_nothing_is_root_that_starts_no_candidate(shop: ProgramShop, trusted: Runner) -> None:
    pull = shop.change()
    if trusted.user is not None:
        trusted.sudo_log.write_text("")
    job = shop.on_pull(pull)
    assert trusted.run_main(job, inputs={"step": "plan"}).code == 0
    none = trusted.run_main(shop.on_pull(pull), GATEVAL_CANDIDATE_USERS="none")
    assert none.code == 0, none.errors
    assert json.loads(answers(none))["info"]["isolation"].startswith("weaker")
    if trusted.user is not None:
        assert trusted.sudo_log.read_text() == ""


def test_an_open_container_engine_and_no_other_user_is_refused(
    shop: ProgramShop, ordinary: Runner, engine: Path
) -> None:
    pull = shop.change()
    job = shop.on_pull(pull)
    environ = {"DOCKER_HOST": f"unix://{engine}", "GATEVAL_CANDIDATE_USERS": "none"}
    ended = ordinary.run_main(job, inputs={}, **environ)
    assert ended.code == 3, ended.log
    assert f"the container engine at {engine}, which makes them root" in ended.errors
    assert "`sudo` without a password" in ended.errors
    assert shop.conclusions(pull.head_sha) == ["action_required"]
    assert ordinary.run_post(job).code == 0
    if os.geteuid() == 0:
        engine.chmod(0o600)
        assert ordinary.run_main(shop.on_pull(pull), inputs={}, **environ).code == 0
