"""The samples under `examples/runtimes/`, one for each runtime, and `examples/beside/`, as run."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from gateval.candidates.base import TrialRequest
from gateval.candidates.team import Candidates
from gateval.domain.manifests.fixture import ToolReplay
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trace import SHADOW
from gateval.domain.trials.trial import Answer
from tests.helpers.candidates import World, agent_from, ask
from tests.helpers.scripted_calls import ScriptedCalls, calls, says

SAMPLES = Path(__file__).parents[3] / "examples" / "runtimes"


def answer(world: World, agent: AgentDefinition, request: TrialRequest) -> Answer:
    async def main() -> Answer:
        async with world.http, Candidates(world.context) as candidates:
            result = await candidates.answer(agent, request)
            assert isinstance(result, Answer), result
            return result

    return asyncio.run(main())


def answer_all(world: World, agent: AgentDefinition, asked: list[TrialRequest]) -> list[Answer]:
    """What comes of several questions, one after the other, to candidates that live on."""

    async def main() -> list[Answer]:
        async with world.http, Candidates(world.context) as candidates:
            results = [await candidates.answer(agent, request) for request in asked]
            return [one for one in results if isinstance(one, Answer)]

    return asyncio.run(main())


def test_command(tmp_path: Path) -> None:
    world = World(tmp_path)
    shutil.copytree(SAMPLES / "command", world.export / "desk")
    agent = agent_from(SAMPLES / "command" / "agent.yaml", cwd="desk")
    found = answer(world, agent, ask("Where is P-1001?"))
    assert found.output == "Parcel desk: Parcel P-1001 is in Lyon, arriving tomorrow."
    assert found.trace is not None
    (call,) = found.trace.tool_calls()
    assert (call.tool, call.arguments) == ("find_parcel", {"number": "P-1001"})
    assert [step.kind.value for step in found.trace.steps] == [
        "user", "tool_call", "tool_result", "assistant",
    ]  # fmt: skip


def test_command_asks_back(tmp_path: Path) -> None:
    world = World(tmp_path)
    shutil.copytree(SAMPLES / "command", world.export, dirs_exist_ok=True)
    agent = agent_from(SAMPLES / "command" / "agent.yaml")
    asked = answer(world, agent, ask("Where is my parcel?"))
    assert "Which parcel" in asked.output
    assert asked.trace is not None
    assert asked.trace.tool_calls() == ()


def test_http(tmp_path: Path) -> None:
    world = World(tmp_path)
    shutil.copytree(SAMPLES / "http", world.export / "counter")
    agent = agent_from(SAMPLES / "http" / "agent.yaml", cwd="counter")
    asked = ask(payload={"prompt": "Where is P-1002?", "customer": "Kim"})
    found = answer(world, agent, asked)
    assert found.output == "Parcel counter to Kim: P-1002 is at the sorting office."
    assert found.trace is not None
    assert [step.kind.value for step in found.trace.steps] == [
        "user", "tool_call", "tool_result", "assistant",
    ]  # fmt: skip
    assert "to nobody" in answer(world, agent, ask("Where is P-1001?")).output


def test_agentv(tmp_path: Path) -> None:
    world = World(tmp_path)
    shutil.copytree(SAMPLES / "agentv", world.export / "line")
    agent = agent_from(SAMPLES / "agentv" / "agent.yaml", cwd="line")
    found = answer(world, agent, ask("Where is P-1002?"))
    assert found.output == "P-1002 is at the sorting office."
    assert found.trace is not None
    assert [(step.kind.value, step.tool, step.text) for step in found.trace.steps] == [
        ("user", None, "Where is P-1002?"),
        ("tool_call", "find_parcel", ""),
        ("tool_result", "find_parcel", "at the sorting office"),
        ("assistant", None, "P-1002 is at the sorting office."),
    ]
    assert "Which parcel" in answer(world, agent, ask("Where is it?")).output


@pytest.mark.parametrize("language", ["python", "node"])
def test_bridges(tmp_path: Path, language: str) -> None:
    if shutil.which({"python": "python3"}.get(language, language)) is None:
        pytest.skip(f"{language} is not installed")
    world = World(tmp_path)
    shutil.copytree(SAMPLES / language, world.export / "desk")
    agent = agent_from(SAMPLES / language / "agent.yaml", cwd="desk")
    found = answer(world, agent, ask("Where is P-1001?"))
    assert (found.output, found.trace) == ("Your parcel P-1001 is in Lyon.", None)
    assert answer(world, agent, ask("Where?")).output == "Which number does your parcel have?"


def test_beside(tmp_path: Path) -> None:
    world = World(tmp_path)
    shutil.copytree(SAMPLES.parent / "beside" / "lockers", world.export / "lockers")
    agent = agent_from(SAMPLES.parent / "beside" / "lockers" / "agent.yaml", cwd="lockers")
    asked = [ask(f"Put P-100{number} away") for number in range(4)]
    found = [one.output for one in answer_all(world, agent, asked)]
    assert found == [f"P-100{number} is in locker 1." for number in range(4)]
    unreset = agent.model_copy(update={"runtime": agent.runtime.model_copy(update={"before": ()})})
    full = [one.output for one in answer_all(world, unreset, asked)]
    assert full.count("All lockers are taken.") == 2
    assert "Which parcel" in answer(world, agent, ask("Put it away")).output


def test_the_tools_of_the_courier_desk_are_answered_by_the_gate() -> None:
    """`tests/e2e/test_tools.py` runs it."""
    manifest = SAMPLES.parent / "beside" / "courier" / "agent.yaml"
    assert [tool.name for tool in agent_from(manifest).tools] == ["find_courier"]


def test_model(tmp_path: Path) -> None:
    script = ScriptedCalls(
        [
            calls(("find_parcel", {"number": "P-1001"}), ("refund_postage", {"cents": 5})),
            says("It is in Lyon."),
        ]
    )
    world = World(tmp_path, calls=script)
    replay = (ToolReplay(tool="find_parcel", result={"place": "Lyon"}),)
    found = answer(
        world,
        agent_from(SAMPLES / "model" / "agent.yaml"),
        ask("Where is P-1001?", replay=replay),
    )
    assert found.output == "It is in Lyon."
    assert found.trace is not None
    results = [step.text for step in found.trace.steps if step.kind.value == "tool_result"]
    assert results == ['{"place":"Lyon"}', SHADOW]
    model, request, _ = script.asked[0]
    assert model == "openai/gpt-5-mini"
    assert [tool.name for tool in request.tools] == ["find_parcel", "refund_postage"]
    assert request.messages[0].text.startswith("You tell people where their parcels are.")
