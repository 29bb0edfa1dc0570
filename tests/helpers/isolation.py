"""Isolation for tests: a Python that every user can run, and walls as the gate builds them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gateval.app.run.isolation import isolation
from gateval.candidates.isolation.isolation_level import (
    IsolationLevel,
    ResourceLimits,
    build_isolation,
    look_around,
    refuse_what_is_not_held,
)
from gateval.candidates.isolation.visible_paths import passable
from gateval.candidates.team import Candidates
from gateval.domain.manifests.gate_config import EgressPolicy
from gateval.domain.trials.trial import Answer, NoAnswer
from gateval.settings import read_settings
from tests.helpers.candidates import World, ask, command_agent


def open_python() -> str:
    """The path of a Python that every user of this machine can run. The standard library only."""
    for path in (sys.executable, *(f"{folder}/python3" for folder in os.defpath.split(":"))):
        if os.access(path, os.X_OK) and passable(path):
            return os.path.realpath(path)
    raise AssertionError("There is no Python here that other users could run; install python3.")


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
    """A fresh folder that every user can go to, unlike pytest's, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="gateval-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def walls_here(*, own_users: bool) -> IsolationLevel:
    """The walls of this system, or those it has for root without the right to make users."""
    around = look_around()
    return build_isolation(
        around if own_users else replace(around, capabilities=0), ResourceLimits()
    )


def held_here() -> None:
    """Raise `UsageError` where nothing here can hold candidates to `policy.egress`."""
    refuse_what_is_not_held(EgressPolicy.GATEWAY, walls_here(own_users=False))


@contextlib.contextmanager
def isolated_world(
    wishes: ResourceLimits,
    *hidden: Path,
    own_users: bool = True,
    ports: list[int] | None = None,
    binds: list[int] | None = None,
    filtered: bool = True,
    apart: bool = False,
) -> Iterator[World]:
    """A world whose candidates are started behind the walls that this system allows.

    `filtered` False leaves the filter of system calls out, `apart` True adds PID namespaces.
    """
    isolation_level = walls_here(own_users=own_users)
    isolation_level = replace(
        isolation_level, filtered=isolation_level.filtered and filtered, apart=apart
    )
    settings = replace(read_settings({}), environ=dict(os.environ), limits=wishes)
    with open_folder() as folder:
        scratch = folder / "scratch"
        scratch.mkdir()
        with isolation(
            isolation_level, settings, scratch, hidden, ports=ports, binds=binds
        ) as starter:
            yield World(folder, starter=starter)


def answer_of(world: World, program: str, *command: str, timeout: float = 20) -> Answer | NoAnswer:
    """Have one candidate run this Python program, or `command` beside it, and return its answer."""
    world.write("agent.py", program)
    agent = command_agent(command or (open_python(), "-I", "-S", "agent.py"))

    async def main() -> Answer | NoAnswer:
        async with Candidates(world.context) as candidates:
            return await candidates.answer(agent, ask(timeout=timeout))

    return asyncio.run(main())


def output_of(world: World, program: str, *command: str, timeout: float = 20) -> str:
    """The same, where an answer is expected: what it printed."""
    answer = answer_of(world, program, *command, timeout=timeout)
    assert isinstance(answer, Answer), answer
    return answer.output


def supervisors(gate: int) -> list[int]:
    """The supervisor of the process `gate`, and its guards, which are forks of it."""
    found = []
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            ours = b"supervisor.main" in (process / "cmdline").read_bytes()
            if ours and (parent == gate or parent in found):
                found.append(int(process.name))
    return found
