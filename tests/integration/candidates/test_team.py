"""Candidates as a whole, with small runtimes of our own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from gateval.candidates.base import Runtime, TrialRequest
from gateval.candidates.registry import RuntimeType
from gateval.candidates.team import Candidates
from gateval.domain.base import Spec
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trial import Answer, Cause, NoAnswer, Side
from tests.helpers.candidates import World, ask, command_agent


class NoOptions(Spec):
    """No keys."""


class Loud(Runtime):
    """Does as the Agent's `env` says, and keeps a diary."""

    diary: ClassVar[list[str]] = []

    async def prepare(self) -> NoAnswer | None:
        self.diary.append(f"prepare {self.agent.name} {self.agent.side}")
        await asyncio.sleep(0)
        if "prepare" in self.agent.runtime.env:
            raise OSError(self.agent.runtime.env["prepare"])
        return None

    async def answer(self, request: TrialRequest) -> Answer | NoAnswer:
        if "answer" in self.agent.runtime.env:
            raise OSError(self.agent.runtime.env["answer"])
        return Answer(output=f"{self.name} {request.input.prompt}", seconds=0)

    async def close(self) -> None:
        self.diary.append(f"close {self.agent.name} {self.agent.side}")
        if "close" in self.agent.runtime.env:
            raise OSError(self.agent.runtime.env["close"])
        await asyncio.sleep(float(self.agent.runtime.env.get("slow", 0)))


@pytest.fixture(autouse=True)
def _fresh_diary() -> Iterator[None]:
    Loud.diary.clear()
    yield
    Loud.diary.clear()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


LOUD = {"loud": RuntimeType(f"{__name__}:Loud")}


def loud(name: str = "bot", side: Side = Side.HEAD, **env: str) -> AgentDefinition:
    agent = command_agent((), name=name, side=side, env=env)
    return agent.model_copy(update={"runtime": agent.runtime.model_copy(update={"type": "loud"})})


def answers(world: World, *agents: AgentDefinition) -> list[Answer | NoAnswer]:
    async def main() -> list[Answer | NoAnswer]:
        async with Candidates(world.context, LOUD) as candidates:
            return await asyncio.gather(*(candidates.answer(agent, ask()) for agent in agents))

    return asyncio.run(main())


def test_each_agent_and_side_is_prepared_once_and_closed(world: World) -> None:
    agents = [loud("one"), loud("one", Side.BASE), loud("two")] * 3
    results = answers(world, *agents)
    run = world.context.run
    assert [r.output for r in results if isinstance(r, Answer)][:3] == [
        f"one-cand-{run} hello", f"one-cand-{run} hello", f"two-cand-{run} hello",
    ]  # fmt: skip
    assert sorted(Loud.diary) == [
        "close one base", "close one head", "close two head",
        "prepare one base", "prepare one head", "prepare two head",
    ]  # fmt: skip


@pytest.mark.parametrize("where", ["prepare", "answer"])
def test_a_runtime_that_breaks_costs_its_own_trials_only(world: World, where: str) -> None:
    broken, fine = loud("broken", Side.HEAD, **{where: "disk on fire"}), loud("fine")
    first, second, other = answers(world, broken, broken, fine)
    assert isinstance(other, Answer)
    for result in (first, second):
        assert isinstance(result, NoAnswer)
        assert result.cause is Cause.GATE
        assert "`loud`" in result.reason
        assert "OSError: disk on fire" in result.reason
    assert Loud.diary.count("prepare broken head") == 1


def test_an_unknown_runtime_is_named_with_the_nearest_known_one(world: World) -> None:
    (result,) = answers(world, _typed(loud(), "lout"))
    assert isinstance(result, NoAnswer)
    assert "`lout`" in result.reason
    assert 'Did you mean "loud"?' in result.reason


def test_one_that_cannot_be_closed_does_not_keep_the_others_open(world: World) -> None:
    with pytest.raises(OSError, match="stuck"):
        answers(world, loud("one"), loud("two", close="stuck"), loud("three"))
    assert sum(line.startswith("close") for line in Loud.diary) == 3


def test_all_are_closed_even_when_cancelled_meanwhile(world: World) -> None:
    async def main() -> None:
        candidates = Candidates(world.context, LOUD)
        for name in ("one", "two"):
            await candidates.answer(loud(name, slow="30"), ask())
        closing = asyncio.create_task(candidates.close())
        for _ in range(2):
            await asyncio.sleep(0.01)
            closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        late = await candidates.answer(loud("three"), ask())
        assert isinstance(late, NoAnswer)
        assert "The run is over" in late.reason

    asyncio.run(main())
    assert sum(line.startswith("close") for line in Loud.diary) == 2


def _typed(agent: AgentDefinition, kind: str) -> AgentDefinition:
    return agent.model_copy(update={"runtime": agent.runtime.model_copy(update={"type": kind})})
