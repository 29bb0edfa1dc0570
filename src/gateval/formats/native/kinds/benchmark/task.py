"""What people write of a benchmark's tasks: instruction, scenario, entities and criteria."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, JsonValue, field_validator, model_validator

from gateval.domain.base import JsonObject, Name, Spec
from gateval.domain.manifests.fixture import InputType
from gateval.domain.manifests.fixtures.messages import MESSAGES_LIMIT
from gateval.domain.manifests.fixtures.playground import PlaygroundSpec
from gateval.domain.manifests.fixtures.recorded import ToolReplay
from gateval.domain.manifests.fixtures.reference import Reference
from gateval.domain.manifests.severity import AssertionWeight


class CriterionBody(Spec):
    """One entry of `criteria`."""

    label: str = Field(min_length=1, max_length=200, description="What has to hold, in words.")
    weight: AssertionWeight = Field(
        default=1.0, description="How much it counts in the task's score, 0 for not at all."
    )
    axis: str | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="The quality it measures: criteria with the same axis have a score together.",
    )
    turn: int | None = Field(
        default=None,
        ge=1,
        description="The turn whose answer it looks at, 1 that to the instruction. Default: the "
        "whole conversation and its last answer.",
    )
    check: JsonObject = Field(
        description="One assertion, as fixtures have them: its `type` and its options. One of an "
        "unknown type fails."
    )

    @field_validator("check")
    @classmethod
    def _is_one(cls, check: JsonObject) -> JsonObject:
        if not isinstance(check.get("type"), str):
            raise ValueError("A check needs its `type`, as text.")  # noqa: TRY004 - read as a problem
        return check


class ScenarioBody(Spec):
    """`scenario` of a task: what comes in besides the instruction."""

    trigger: InputType = Field(
        default=InputType.PROMPT, description="Where the task would come from in production."
    )
    input: JsonObject = Field(
        default={}, description="What comes in with the instruction: further keys of the payload."
    )

    @field_validator("input")
    @classmethod
    def _leaves_the_prompt(cls, given: JsonObject) -> JsonObject:
        for key in ("prompt", "entities"):
            if key in given:
                where = "`instruction`" if key == "prompt" else "`entities` of the task"
                raise ValueError(f"`{key}` is what {where} says. Give this another name.")
        return given


class TaskBody(Spec):
    """One entry of `tasks`."""

    name: Name = Field(description="What the task is called; one per benchmark.")
    description: str = Field(
        default="", description="What it is about, in a sentence; reports show it."
    )
    instruction: str = Field(min_length=1, description="What the agent is asked to do.")
    turns: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(),
        max_length=MESSAGES_LIMIT - 1,
        description="What the user says then, one after the other, each after the agent's answer.",
    )
    scenario: ScenarioBody = ScenarioBody()
    entities: dict[str, JsonValue] = Field(
        default={}, description="What the task is about, by name; the agent gets it with its input."
    )
    tags: tuple[str, ...] = Field(default=(), description="Words to find it by: labels that exist.")
    timeout_seconds: float | None = Field(
        default=None,
        gt=0,
        le=86_400,
        description="Seconds for the task; the benchmark's if absent. A task over its time fails.",
    )
    criteria: tuple[CriterionBody, ...] = Field(
        default=(), description="What must hold at the end. A task without any fails."
    )
    playground: PlaygroundSpec | None = Field(
        default=None,
        description="A folder that is made anew for each run of the task; the benchmark's if "
        "absent.",
    )
    reference: Reference | None = Field(
        default=None, description="What a good answer is, for judges and checks; agents get none."
    )
    tool_replay: tuple[ToolReplay, ...] = Field(
        default=(), description="Recorded answers of tools, given instead of calling them."
    )
    shadow_tools: tuple[str, ...] = Field(
        default=(),
        description='Tools whose calls are only recorded and answered with `{"shadow": true}`.',
    )

    @model_validator(mode="after")
    def _has_the_turns_looked_at(self) -> Self:
        most = 1 + len(self.turns) if self.turns else 0
        for one in self.criteria:
            if one.turn is not None and one.turn > most:
                there = f"{most} turns" if most else "no `turns`"
                raise ValueError(f"A criterion looks at turn {one.turn}, and there are {there}")
        return self
