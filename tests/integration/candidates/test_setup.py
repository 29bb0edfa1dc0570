"""Set-ups: once per export, in their own environment, and never a reason to hang."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from gateval.candidates.base import ProcessTimeouts
from gateval.candidates.team import Candidates
from gateval.domain.trials.trial import Answer, Cause, NoAnswer, Side
from gateval.events import CandidatePreparing
from tests.helpers.candidates import Door, World, ask, python_agent

SETUP = (sys.executable, "-I", "setup.py")


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.write("agent.py", "print(open('ready').read())")
    return world


def test_agents_of_one_export_share_one_set_up(world: World) -> None:
    world.write("setup.py", "open('ready', 'a').write('once ')")

    async def main() -> list[Answer | NoAnswer]:
        agents = [python_agent(name=name, setup=SETUP) for name in ("one", "two")]
        async with Candidates(world.context) as candidates:
            return await asyncio.gather(
                *(candidates.answer(agent, ask()) for agent in agents for _ in range(3))
            )

    results = asyncio.run(main())
    assert [r.output for r in results if isinstance(r, Answer)] == ["once"] * 6
    prepared = [e for e in world.events if isinstance(e, CandidatePreparing)]
    assert sorted((e.agent, e.side, e.what) for e in prepared) == [
        ("one", Side.HEAD, "export"),
        ("one", Side.HEAD, "set-up"),
        ("two", Side.HEAD, "export"),
    ]


def test_its_environment_is_private_and_without_models(tmp_path: Path) -> None:
    world = World(tmp_path, door=Door())
    world.write(
        "setup.py",
        """
        import os
        open(os.path.join(os.environ["HOME"], "cache"), "w").close()
        open("ready", "w").write(" ".join(sorted(os.environ)) + " " + os.environ["LEVEL"])
        """,
    )
    world.write("agent.py", "print(open('ready').read())")
    (result,) = _answers(world, env={"LEVEL": "high"})
    assert isinstance(result, Answer)
    assert "OPENAI_BASE_URL" not in result.output
    assert "GATEVAL_CANDIDATE" in result.output
    assert result.output.endswith("high")


@pytest.mark.parametrize(
    ("program", "reason", "detail"),
    [
        (
            "import sys; print('resolving'); print('no such package', file=sys.stderr); sys.exit(4)",
            "The set-up ended with exit code 4.",
            ("no such package", "resolving"),
        ),
        (
            "import time; print('waiting', flush=True); time.sleep(60)",
            "The set-up was not done within 1.5 s and was ended.",
            ("waiting",),
        ),
        (
            "import os\nwhile True: os.write(1, b'noise ' * 10000)",
            "The set-up printed more than 64 MiB on standard output and was ended.",
            None,
        ),
    ],
)
def test_a_set_up_that_fails_is_the_answer_of_each_trial(
    tmp_path: Path, program: str, reason: str, detail: tuple[str, ...] | None
) -> None:
    timeouts = 1.5 if "not done" in reason else 30
    world = World(tmp_path, timeouts=ProcessTimeouts(setup_seconds=timeouts, grace_seconds=0.1))
    world.write("setup.py", program)
    for result in _answers(world, trials=3):
        assert isinstance(result, NoAnswer)
        assert (result.reason, result.cause) == (reason, Cause.CANDIDATE)
        assert not result.timed_out  # it did not start, which is no lack of timeouts in the trial
        assert "setup.py" in result.detail[0]
        if detail is not None:
            assert result.detail[1:] == detail
    assert sum(e.what == "set-up" for e in world.events if isinstance(e, CandidatePreparing)) == 1


def test_a_set_up_may_be_long_winded(world: World) -> None:
    world.write("setup.py", "print('installing ' * 500_000); open('ready', 'w').write('yes')")
    (result,) = _answers(world)
    assert isinstance(result, Answer)
    assert result.output == "yes"


def test_a_set_up_that_is_not_there_names_itself(world: World) -> None:
    (result,) = _answers(world, setup=("no-such-installer", "sync"))
    assert isinstance(result, NoAnswer)
    assert result.reason.startswith("The set-up failed. `no-such-installer` was not found.")


def _answers(
    world: World,
    *,
    trials: int = 1,
    setup: tuple[str, ...] = SETUP,
    env: dict[str, str] | None = None,
) -> tuple[Answer | NoAnswer, ...]:
    async def main() -> tuple[Answer | NoAnswer, ...]:
        agent = python_agent(setup=setup, env=env)
        async with Candidates(world.context) as candidates:
            return tuple(
                await asyncio.gather(*(candidates.answer(agent, ask()) for _ in range(trials)))
            )

    results = asyncio.run(main())
    assert world.survivors() == []
    assert world.leftovers() == []
    return results
