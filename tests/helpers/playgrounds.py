"""Playgrounds made as a run makes them, but from a folder and not from git."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import subprocess
import tempfile
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

from gateval.adapters.machine import SystemClock
from gateval.candidates.base import Playground, ProcessTimeouts, RuntimeContext
from gateval.candidates.environment import candidate_environment
from gateval.candidates.playgrounds import Playgrounds, ReadyPlayground
from gateval.candidates.program import Groups, Starter
from gateval.domain.manifests.evaluation import ExecutionSpec, JudgeSpec, ScoringSpec
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import Baseline, PlannedEval
from gateval.domain.trials.trial import NoAnswer
from gateval.gateway.loopback_client import LoopbackClient
from tests.helpers.candidates import Folders, command_agent
from tests.helpers.own_checks import FILES, TREE, OneFolder
from tests.helpers.scripted_calls import ScriptedCalls


@contextlib.asynccontextmanager
async def made(
    fixture: Fixture, folder: Path, scratch: Path, starter: Starter | None = None
) -> AsyncIterator[ReadyPlayground | NoAnswer]:
    """Give the playground of a fixture whose revision is this folder, or why there is none."""
    async with LoopbackClient() as http:
        context = RuntimeContext(
            run=secrets.token_hex(6),
            calls=ScriptedCalls(),
            door=None,
            exports=Folders(folder),
            environ=candidate_environment(os.environ),
            clock=SystemClock(),
            local_http=http,
            scratch=scratch,
            starter=starter or Groups(),
            on_event=lambda _: None,
            timeouts=ProcessTimeouts(grace_seconds=0.2),
        )
        plan = Plan(head=TREE, nothing="Nothing.")
        grounded = fixture.model_copy(update={"ground": FILES})
        async with Playgrounds(context, plan, OneFolder(folder)) as playgrounds:
            agent, planned = command_agent(("true",)), _planned(grounded)
            async with playgrounds.opened(agent, planned, grounded) as ground:
                yield ground


@contextlib.asynccontextmanager
async def opened(fixture: Fixture, folder: Path) -> AsyncIterator[ReadyPlayground]:
    """Give a playground that can be made, in a scratch folder of its own, without walls."""
    with tempfile.TemporaryDirectory() as scratch:
        async with made(fixture, folder, Path(scratch)) as ground:
            assert isinstance(ground, ReadyPlayground), ground
            yield ground
        assert left(Path(scratch)) == []


def left(scratch: Path) -> list[str]:
    """The playgrounds that were not removed."""
    return [path.name for path in scratch.iterdir() if path.name.startswith("playground-")]


def done_in(playground: Playground, line: str) -> None:
    """Do what an agent would: `sqlite: STATEMENT`, `PUT PATH` to the first service, or a line for
    the shell.
    """
    if line.startswith("sqlite: "):
        (database,) = playground.root.glob("*.db")
        with contextlib.closing(sqlite3.connect(database)) as base, base:
            base.execute(line.removeprefix("sqlite: "))
    elif line.startswith("PUT "):
        host, port = next(iter(playground.addresses.at.values()))
        url = f"http://{host}:{port}{line.removeprefix('PUT ')}"
        urllib.request.urlopen(urllib.request.Request(url, method="PUT"), timeout=10).close()
    else:
        subprocess.run(["sh", "-c", line], cwd=playground.root, check=True, timeout=30)


def _planned(fixture: Fixture) -> PlannedEval:
    return PlannedEval(
        name="desk-eval",
        place=fixture.place,
        agent="desk",
        judge=JudgeSpec(),
        scoring=ScoringSpec(),
        execution=ExecutionSpec(),
        baseline=Baseline.NONE,
        why=(),
        fixtures=(fixture,),
    )
