"""Reads an Eval, and the calibration of a judge."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, StringConstraints

from gateval.domain.base import ModelName, Name, Spec, empty
from gateval.domain.manifests.evaluation import (
    MODELS,
    Calibration,
    CalibrationExample,
    Eval,
    ExecutionSpec,
    FixtureSelector,
    JudgeSpec,
    ScoringSpec,
)
from gateval.domain.manifests.fixture import Severity, Weight
from gateval.formats.base import Source
from gateval.formats.native.cron import Schedule, TimeZone
from gateval.formats.native.written import (
    ManifestKind,
    ReadDocument,
    Written,
    canonical,
    envelope,
    meaning,
)
from gateval.formats.problems import validate

VarName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=100)]
"""A name as it can stand behind `vars.`."""


class WrittenScoring(Spec):
    """How an Eval's score is made of its fixtures, and which score is enough."""

    model: Literal["fixtures", "weighted", "benchmark", "experiment"] = "fixtures"
    """`fixtures`: a trial passes when all assertions do. `weighted`: its score is their weighted
    mean, and it passes from `passScore` on."""
    pass_score: float = Field(default=0.8, ge=0, le=1)
    """With `model: weighted`, the score in [0, 1] from which a trial passes."""
    pass_threshold: float | None = Field(default=None, ge=0, le=1)
    """The score in [0, 1] that the Eval must reach. If absent, nothing may regress where there is a
    baseline, and elsewhere the threshold is 1."""
    severity_weights: dict[Severity, Weight] = empty()
    """Weights of fixtures by severity, from 0.001 to 1000, in place of low 0.5, medium 1, high 2,
    critical 4."""


def _of_evals(scoring: WrittenScoring) -> WrittenScoring:
    if (name := scoring.model) in {"benchmark", "experiment"}:
        raise ValueError(f"The scoring model `{name}` is that of `kind: {name.capitalize()}`.")
    return scoring


class EvalBody(Spec):
    """`spec` of an Eval."""

    target_agent: Name
    """The Agent under test."""
    fixture_selector: FixtureSelector | None = None
    """Takes in every fixture with these labels, now and later."""
    fixtures: tuple[Name, ...] = ()
    """Fixtures by name, in addition to those that the selector finds. The name of one with cases
    stands for all of these."""
    vars: dict[VarName, JsonValue] = empty()
    """What fills in `{{ vars.NAME }}` in the fixtures of this Eval."""
    judge: JudgeSpec = JudgeSpec()
    scoring: Annotated[WrittenScoring, AfterValidator(_of_evals)] = WrittenScoring()
    execution: ExecutionSpec = ExecutionSpec()
    schedule: Schedule = None
    """Cron expression of five fields: a job by the clock runs the Eval when it is due; one without
    it once a day, and on each new commit."""
    time_zone: TimeZone = "UTC"
    """The time zone of `schedule`, such as `Europe/Berlin`."""
    sealed: bool = False
    """Whether what its fixtures ask, and the evidence on them, is shown to holders of the key alone
    (`policy.recipients`). What lies in a sealed file always is."""


class EvalDocument(Written):
    """A quality test of an Agent: which fixtures, which judge, which threshold."""

    kind: Literal["Eval"]
    spec: EvalBody


def _read_eval(source: Source) -> ReadDocument:
    """Return the Eval and its problems; `places` goes two levels deep (`spec.fixtures[0]`)."""
    document, problems = validate(EvalDocument, source.body, source.document)
    if document is None:
        return ReadDocument(None, problems)
    spec = document.spec
    scoring = ScoringSpec.of_known(**{**dict(spec.scoring), "model": MODELS[spec.scoring.model]})
    evaluation = Eval.of_known(
        **envelope(source, document),
        **{**dict(spec), "scoring": scoring},
        places=source.document.key_places(("spec",), depth=2),
        digest=meaning(document.kind, document.metadata, canonical(spec)),
    )
    return ReadDocument(evaluation, problems)


EVAL = ManifestKind("Eval", EvalDocument, _read_eval)


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


def _read_calibration(source: Source) -> ReadDocument:
    """Return the calibration and its problems."""
    document, problems = validate(CalibrationDocument, source.body, source.document)
    if document is None:
        return ReadDocument(None, problems)
    spec = document.spec
    digest = meaning(document.kind, document.metadata, canonical(spec))
    calibration = Calibration(**envelope(source, document), **dict(spec), digest=digest)
    return ReadDocument(calibration, problems)


CALIBRATION = ManifestKind("JudgeCalibration", CalibrationDocument, _read_calibration)
