"""Whatever a candidate does and however its trial ends, nothing of it is left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from gateval.candidates.command import CommandRuntime
from gateval.candidates.team import Candidates
from gateval.domain.trials.trial import Answer, NoAnswer
from tests.helpers.candidates import Door, World, ask, no_survivors, open_files, python_agent

LATE = 0.5
NOT_DONE = f"not done within {LATE} s"

IGNORE_SIGTERM = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"

FORK = """
import os, time
def child(work):
    if os.fork() == 0:
        work()
        os._exit(0)
"""

HOSTILE: list[tuple[str, str, str]] = [
    ("ignores SIGTERM", IGNORE_SIGTERM + "import time; time.sleep(60)", NOT_DONE),
    (
        "stops itself",
        "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
        NOT_DONE,
    ),
    (
        "closes its output and sleeps",
        "import os, time; os.close(1); os.close(2); time.sleep(60)",
        NOT_DONE,
    ),
    (
        "has a child that ignores SIGTERM too",
        IGNORE_SIGTERM + FORK + "child(lambda: time.sleep(60)); time.sleep(60)",
        NOT_DONE,
    ),
    (
        "leaves a child that holds its output",
        FORK + "child(lambda: time.sleep(60)); print('bye', flush=True); os._exit(0)",
        "bye",
    ),
    (
        "leaves a child that goes on printing",
        FORK
        + """
def loop():
    while True: os.write(2, b'still here\\n'); time.sleep(0.001)
child(loop); print('bye', flush=True); os._exit(0)
""",
        "bye",
    ),
    (
        "prints 10 MB",
        "import os\nfor _ in range(160): os.write(1, b'x' * 65536)",
        "printed more than 1 MiB on standard output",
    ),
    (
        "prints without end and ignores SIGTERM",
        IGNORE_SIGTERM
        + "import os\nwhile True:\n  try: os.write(1, b'x' * 65536)\n  except OSError: pass",
        "printed more than 1 MiB on standard output",
    ),
    (
        "prints 1 GB of errors",
        "import os\nfor _ in range(16384): os.write(2, b'x' * 65536)",
        "printed more than 64 MiB on standard error",
    ),
    (
        "fills its home",
        "import os; os.chdir(os.environ['HOME']); [open(str(n), 'w').close() for n in range(500)]; print('full')",
        "full",
    ),
    (
        "nests its home 1,500 deep and forbids entry",
        """
import os
os.chdir(os.environ['HOME'])
for _ in range(1500):
    os.mkdir('d'); os.chdir('d')
os.chmod(os.environ['TMPDIR'], 0)
os.chmod(os.environ['HOME'] + '/d', 0)
print('deep')
""",
        "deep",
    ),
    (
        "removes its home and puts a link there",
        "import os; os.rmdir(os.environ['HOME']); os.symlink('/etc', os.environ['HOME']); print('linked')",
        "linked",
    ),
]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize(("program", "part"), [h[1:] for h in HOSTILE], ids=[h[0] for h in HOSTILE])
def test_nothing_is_left_after(world: World, program: str, part: str) -> None:
    world.write("agent.py", program)

    async def main() -> Answer | NoAnswer:
        async with Candidates(world.context) as candidates:
            result = await candidates.answer(
                python_agent(), ask(timeout=LATE if part == NOT_DONE else 30)
            )
            assert world.survivors() == []
            assert world.leftovers() == []
            return result

    began = time.monotonic()
    result = asyncio.run(main())
    assert time.monotonic() - began < 28
    assert part in (result.output if isinstance(result, Answer) else result.reason)
    assert Path("/etc").is_dir()


def test_a_polite_program_may_tidy_up(world: World, tmp_path: Path) -> None:
    mark = tmp_path / "tidied"
    world.write(
        "agent.py",
        f"""
        import signal, sys, time
        def tidy(*_):
            open({str(mark)!r}, "w").close(); sys.exit(0)
        signal.signal(signal.SIGTERM, tidy)
        time.sleep(60)
        """,
    )

    async def main() -> None:
        async with Candidates(world.context) as candidates:
            await candidates.answer(python_agent(), ask(timeout=2))

    asyncio.run(main())
    assert mark.exists()


SLOW = (
    IGNORE_SIGTERM + FORK + "child(lambda: time.sleep(60)); open('up', 'w').close(); time.sleep(60)"
)


def _is_there(path: Path) -> bool:
    return path.exists()


async def _until(path: Path) -> None:
    for _ in range(3000):
        if _is_there(path):
            return
        await asyncio.sleep(0.01)
    pytest.fail("the program did not come up")


@pytest.mark.parametrize("cancels", [1, 2])
def test_a_cancelled_trial_leaves_nothing(tmp_path: Path, cancels: int) -> None:
    door = Door()
    world = World(tmp_path, door=door)
    world.write("agent.py", SLOW)

    async def main() -> None:
        async with Candidates(world.context) as candidates:
            trial = asyncio.create_task(candidates.answer(python_agent(), ask(timeout=60)))
            await _until(world.export / "up")
            for _ in range(cancels):  # the second one arrives in the middle of the teardown
                trial.cancel()
                await asyncio.sleep(0.05)
            with pytest.raises(asyncio.CancelledError):
                await trial

    asyncio.run(main())
    assert no_survivors(world.context.run)
    assert world.leftovers() == []
    assert door.closed == 1


def test_a_cancelled_set_up_leaves_nothing_and_may_be_tried_again(world: World) -> None:
    world.write("agent.py", "print('ran')")
    world.write("setup.py", "import os\nif not os.path.exists('up'):\n" + _indented(SLOW))
    agent = python_agent(setup=(sys.executable, "-I", "setup.py"))

    async def main() -> Answer | NoAnswer:
        async with Candidates(world.context) as candidates:
            first = asyncio.create_task(candidates.answer(agent, ask()))
            await _until(world.export / "up")
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            assert world.survivors() == []
            return await candidates.answer(agent, ask())

    result = asyncio.run(main())
    assert isinstance(result, Answer)
    assert world.leftovers() == []


def test_a_loop_that_is_torn_down_at_random_moments_leaves_nothing(world: World) -> None:
    world.write("agent.py", "import time; time.sleep(60)")

    async def main(seconds: float) -> None:
        async with Candidates(world.context) as candidates, asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(candidates.answer(python_agent(), ask(timeout=60)))
            await asyncio.sleep(seconds)
            raise KeyError("stop")

    for step in range(8):
        with pytest.raises(BaseExceptionGroup):
            asyncio.run(main(step * 0.004))
        assert no_survivors(world.context.run)
        assert world.leftovers() == []


def test_close_ends_what_nobody_cancelled(world: World) -> None:
    world.write("agent.py", SLOW)

    async def main() -> Answer | NoAnswer:
        runtime = CommandRuntime(python_agent(), world.context)
        assert await runtime.prepare() is None
        trial = asyncio.create_task(runtime.answer(ask(timeout=60)))
        await _until(world.export / "up")
        await runtime.close()
        assert world.survivors() == []
        await runtime.close()
        after = await runtime.answer(ask())
        assert isinstance(after, NoAnswer)
        assert "nothing more is started" in after.reason
        return await trial

    result = asyncio.run(main())
    assert isinstance(result, NoAnswer)
    assert "SIGKILL" in result.reason
    assert world.leftovers() == []


GATE = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.helpers.candidates import World, ask, python_agent
from gateval.candidates.team import Candidates

async def main():
    world = World(Path({folder!r}))
    world.write("agent.py", {program!r})
    async with Candidates(world.context) as candidates:
        print(world.context.run, flush=True)
        await asyncio.gather(*(candidates.answer(python_agent(), ask(timeout=60)) for _ in range(3)))

asyncio.run(main())
"""


def test_a_gate_that_is_interrupted_takes_its_candidates_along(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[3])
    text = GATE.format(root=root, folder=str(tmp_path), program=SLOW)

    async def main() -> str:
        gate = await asyncio.create_subprocess_exec(
            sys.executable, "-c", text, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        assert gate.stdout is not None
        run = (await gate.stdout.readline()).decode().strip()
        await _until(tmp_path / "export" / "up")
        gate.send_signal(signal.SIGINT)
        await asyncio.wait_for(gate.wait(), 60)
        return run

    run = asyncio.run(main())
    assert run
    assert no_survivors(run)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_daemon_that_left_the_group_does_not_hold_up_the_trial(world: World) -> None:
    """It holds the pipes and escapes the group; ending it takes isolation by user id."""
    world.write(
        "agent.py",
        """
        import os, time
        if os.fork() == 0:
            os.setsid()
            time.sleep(60)
            os._exit(0)
        time.sleep(0.1)
        print("bye", flush=True)
        """,
    )

    async def main() -> Answer | NoAnswer:
        async with Candidates(world.context) as candidates:
            return await candidates.answer(python_agent(), ask())

    began = time.monotonic()
    result = asyncio.run(main())
    assert time.monotonic() - began < 50
    assert isinstance(result, Answer)
    assert result.output == "bye"
    assert world.leftovers() == []
    for daemon in world.survivors():
        os.kill(daemon, signal.SIGKILL)
    assert no_survivors(world.context.run)


def test_file_descriptors_are_given_back(world: World) -> None:
    world.write("agent.py", "print('ran')")

    async def main() -> None:
        async with Candidates(world.context) as candidates:
            await candidates.answer(python_agent(), ask())
            before = open_files()
            for _ in range(3):
                await asyncio.gather(*(candidates.answer(python_agent(), ask()) for _ in range(4)))
            assert open_files() == before

    asyncio.run(main())


def test_a_flood_of_one_trial_does_not_hold_up_another(world: World) -> None:
    world.write(
        "agent.py",
        """
        import json, os, sys
        if json.load(sys.stdin)["prompt"] == "flood":
            while True: os.write(2, b"x" * 65536)
        print("calm")
        """,
    )

    async def main() -> list[Answer | NoAnswer]:
        async with Candidates(world.context) as candidates:
            return await asyncio.gather(
                *(candidates.answer(python_agent(), ask(p)) for p in ("flood", "calm", "calm"))
            )

    flood, *calm = asyncio.run(main())
    assert isinstance(flood, NoAnswer)
    assert [r.output for r in calm if isinstance(r, Answer)] == ["calm", "calm"]
    assert json.dumps(flood.detail)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
