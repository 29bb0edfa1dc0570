"""A program that is held: it runs until it is stopped, and says how it ended."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from gateval.adapters.machine import SystemClock
from gateval.candidates.processes import Programs, Running
from gateval.candidates.program import End, Groups, NotStarted, Program, ProgramLimits
from tests.helpers.candidates import open_files

LIMITS = ProgramLimits(seconds=20, grace_seconds=0.3)


def program(code: str, tmp_path: Path) -> Program:
    return Program((sys.executable, "-I", "-c", code), tmp_path, {})


async def until_it_says(text: bytes, running: Running) -> None:
    for _ in range(2000):
        if text in running.stdout.data:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(running.stdout.data)


FOREVER = "import time; print('up', flush=True); time.sleep(99)"


def test_it_runs_until_it_is_stopped(tmp_path: Path) -> None:
    async def scenario() -> None:
        programs = Programs(SystemClock(), Groups())
        running = programs.start(program(FOREVER, tmp_path), LIMITS)
        await until_it_says(b"up", running)
        assert not running.ended.done()
        one, other = await asyncio.gather(running.stop(), running.stop())
        assert one == other
        assert (one.end, one.code, one.stdout) == (End.TIMED_OUT, -15, b"up\n")
        assert running.ended.done()
        assert await running.stop() == one
        await programs.close()

    before = open_files()
    asyncio.run(scenario())
    assert open_files() == before


def test_its_end_is_told_and_what_it_said(tmp_path: Path) -> None:
    async def scenario() -> None:
        code = "import sys; print('bye', file=sys.stderr); sys.exit(7)"
        running = Programs(SystemClock(), Groups()).start(program(code, tmp_path), LIMITS)
        await asyncio.wait({running.ended}, timeout=20)
        ran = await running.stop()
        assert (ran.end, ran.code, ran.stderr) == (End.EXITED, 7, b"bye\n")

    asyncio.run(scenario())


def test_printing_too_much_counts_as_its_end(tmp_path: Path) -> None:
    async def scenario() -> None:
        limits = ProgramLimits(seconds=20, grace_seconds=0.3, stdout_bytes=1000, stdout_kept=10)
        code = "import time; print('x' * 5000, flush=True); time.sleep(99)"
        running = Programs(SystemClock(), Groups()).start(program(code, tmp_path), limits)
        await asyncio.wait({running.ended}, timeout=20)
        ran = await running.stop()
        assert (ran.end, len(ran.stdout)) == (End.STDOUT_OVER, 10)

    asyncio.run(scenario())


def test_closing_stops_what_nobody_stopped_and_starts_nothing_more(tmp_path: Path) -> None:
    async def scenario() -> None:
        programs = Programs(SystemClock(), Groups())
        running = programs.start(program(FOREVER, tmp_path), LIMITS)
        await programs.close()
        assert running.stopped.done()
        with pytest.raises(NotStarted, match="The run is over"):
            programs.start(program(FOREVER, tmp_path), LIMITS)

    before = open_files()
    asyncio.run(scenario())
    assert open_files() == before
