"""The JudgeCalibration manifest: examples that people labelled, to measure a judge against."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from gateval.domain.base import ModelName, Name, Spec, Value
from gateval.domain.manifests.fixtures.recorded import Origin
from gateval.domain.manifests.fixtures.reference import Reference
from gateval.domain.repository.place import Place


class CalibrationExample(Spec):
    """One labelled example."""

    trace_ref: str | None = Field(default=None, description="The trace it was taken from.")
    input: JsonValue = Field(default=None, description="What the agent was asked.")
    candidate_output: str = Field(description="What the agent answered.")
    human_score: float = Field(ge=0, le=1, description="The score in [0, 1] that a person gave.")
    human_label: str | None = Field(default=None, description="Why, in that person's words.")
    disagreement_reason: str | None = Field(
        default=None, description="Why judge and person disagreed, where that was settled."
    )
    expected: JsonValue = Field(
        default=None, description="A good answer, where the judge is shown one."
    )
    reference: JsonValue = Field(
        default=None, description="What a good answer rests on, where the judge is shown that."
    )
    origin: Origin | None = Field(
        default=None, description="Who took it from which trace, where a challenge added it."
    )

    @property
    def given(self) -> Reference:
        """What the judge is shown of a good answer."""
        return Reference(answer=self.expected, context=self.reference)

    @property
    def asked(self) -> list[JsonValue]:
        """All of it that the judge is asked with, and the score that a person gave."""
        grounds = [] if self.given == Reference() else [self.expected, self.reference]
        return [self.input, self.candidate_output, self.human_score, *grounds]


class Calibration(Value):
    """A JudgeCalibration as read from one revision."""

    kind: Literal["JudgeCalibration"] = "JudgeCalibration"
    name: Name
    labels: dict[str, str] = {}
    rubric: str
    judge_models: tuple[ModelName, ...] = Field(min_length=1)
    examples: tuple[CalibrationExample, ...] = Field(min_length=1)
    place: Place
    path: str
    digest: str
