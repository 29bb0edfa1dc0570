"""Reads a JudgeCalibration."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gateval.domain.base import ModelName, Spec
from gateval.domain.manifests.evaluation import Calibration, CalibrationExample
from gateval.formats.base import Source
from gateval.formats.native.written import ManifestKind, ReadDocument, Written, canonical, meaning
from gateval.formats.problems import validate


class CalibrationBody(Spec):
    """`spec` of a JudgeCalibration."""

    rubric: str = Field(min_length=1)
    """What the judge is asked, as in a judge assertion."""
    judge_models: tuple[ModelName, ...] = Field(min_length=1)
    """The models to measure, each `provider/model-id`."""
    examples: tuple[CalibrationExample, ...] = Field(min_length=1)
    """Answers that people scored."""


class CalibrationDocument(Written):
    """Human-labelled examples that a judge is measured against before it may block."""

    kind: Literal["JudgeCalibration"]
    spec: CalibrationBody


def read(source: Source) -> ReadDocument:
    """Return the calibration and its problems."""
    document, problems = validate(CalibrationDocument, source.body, source.document)
    if document is None:
        return ReadDocument(None, problems)
    spec = document.spec
    calibration = Calibration(
        name=document.metadata.name,
        labels=document.metadata.labels,
        rubric=spec.rubric,
        judge_models=spec.judge_models,
        examples=spec.examples,
        place=source.document.place(("metadata", "name")),
        path=source.path,
        digest=meaning(document.kind, document.metadata, canonical(spec)),
    )
    return ReadDocument(calibration, problems)


CALIBRATION = ManifestKind("JudgeCalibration", CalibrationDocument, read)
