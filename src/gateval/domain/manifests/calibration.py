"""The JudgeCalibration manifest: examples that people labelled, to measure a judge against."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from gateval.domain.base import ModelName, Name, Spec, Value
from gateval.domain.place import Place


class CalibrationExample(Spec):
    """One labelled example; `human_score` in [0, 1]."""

    trace_ref: str | None = None
    input: JsonValue = None
    candidate_output: str
    human_score: float = Field(ge=0, le=1)
    human_label: str | None = None
    disagreement_reason: str | None = None


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
