"""Base is started as head is: in a copy, and redirected."""

from __future__ import annotations

from typing import Any

from gateval.domain.manifests.agent import RuntimeSpec
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.planning.planner import alike
from gateval.domain.problems import SourceLocation
from gateval.domain.trials.trial import Side

HOOK = "a" * 64
PROGRAM: dict[str, Any] = {"type": "command", "command": ("agent",)}
ON: dict[str, Any] = {**PROGRAM, "workdir": "copy", "redirect": True, "hook": HOOK}


def agent(side: Side, **runtime: Any) -> AgentDefinition:
    return AgentDefinition(
        name="desk",
        side=side,
        place=SourceLocation(file="agent.yaml"),
        runtime=RuntimeSpec(**runtime),
        closure="0" * 64,
    )


def base_of(head: dict[str, Any], base: dict[str, Any]) -> AgentDefinition:
    found = alike([agent(Side.HEAD, **head)], [agent(Side.BASE, **base)])
    assert found[0] == agent(Side.HEAD, **head)
    return found[1]


def test_what_head_turns_on_holds_for_base_and_changes_what_it_is_compared_by() -> None:
    found = base_of(ON, PROGRAM)
    assert found.runtime == RuntimeSpec(**ON)
    assert found.closure != "0" * 64
    assert base_of({**PROGRAM, "workdir": "copy"}, PROGRAM).closure != found.closure


def test_what_base_has_stays() -> None:
    assert base_of(ON, ON) == agent(Side.BASE, **ON)
    assert base_of(PROGRAM, ON) == agent(Side.BASE, **ON)
    assert base_of(PROGRAM, PROGRAM) == agent(Side.BASE, **PROGRAM)


def test_what_the_gate_runs_itself_or_works_in_a_playground_takes_no_copy() -> None:
    model: dict[str, Any] = {"type": "model"}
    assert base_of(ON, model) == agent(Side.BASE, **model)
    playground = {**PROGRAM, "cwd": "{playground}"}
    assert base_of({**PROGRAM, "workdir": "copy"}, playground) == agent(Side.BASE, **playground)
