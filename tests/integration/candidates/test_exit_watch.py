"""Both ways to notice that a process has ended."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from gateval.candidates.program import ExitWatch
from tests.helpers.candidates import open_files


def start(program: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-I", "-c", program])


@pytest.mark.parametrize("poll", [False, True])
@pytest.mark.parametrize("program", ["pass", "import time; time.sleep(0.05)"])
def test_the_end_is_noticed(poll: bool, program: str) -> None:
    async def main() -> None:
        with start(program) as process:
            watch = ExitWatch(process, poll=poll)
            await asyncio.wait_for(asyncio.shield(watch.exited), 10)
            watch.close()

    asyncio.run(main())


@pytest.mark.parametrize("poll", [False, True])
def test_watching_can_be_given_up(poll: bool) -> None:
    async def main() -> None:
        before = open_files()
        with start("import time; time.sleep(30)") as process:
            watch = ExitWatch(process, poll=poll)
            watch.close()
            watch.close()
            process.kill()
            process.wait()
            await asyncio.sleep(0.05)
            assert not watch.exited.done()
        assert open_files() == before

    asyncio.run(main())
