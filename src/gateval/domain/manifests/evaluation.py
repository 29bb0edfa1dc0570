"""The Eval: which agent, which fixtures, which judge, which threshold.

Benchmarks and Experiments are read into it, too: one engine runs all three.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias

from pydantic import Field

from gateval.domain.base import JsonObject, ModelName, Name, Spec, Value
from gateval.domain.manifests.fixtures.feedback import Feedback
from gateval.domain.manifests.scripted import SCRIPTED_PROVIDER
from gateval.domain.manifests.severity import DEFAULT_WEIGHTS, Severity, Weight
from gateval.domain.repository.place import Place


class FixtureSelector(Spec):
    """Selects fixtures that carry all of these labels."""

    match_labels: dict[str, str] = Field(
        min_length=1, description="Labels that a fixture must carry, each with this value."
    )


class JudgeSpec(Spec):
    """The judge of an Eval."""

    model: ModelName | None = Field(
        default=None, description="The model that judges, as `provider/model-id`."
    )
    temperature: float = Field(
        default=0.0, ge=0, le=2, description="Sampling temperature of the judge."
    )
    calibration: Name | None = Field(
        default=None, description="The JudgeCalibration that this judge is measured against."
    )
    min_agreement: float | None = Field(
        default=None,
        ge=-1,
        le=1,
        description="Cohen's kappa that the judge has to reach in its calibration, or its word "
        "counts for nothing. 0.6, if it has a calibration and this is absent.",
    )

    @property
    def is_scripted(self) -> bool:
        """Whether rules answer in place of a model, the same each time."""
        return (self.model or "").startswith(f"{SCRIPTED_PROVIDER}/")


EvalKind: TypeAlias = Literal["Eval", "Benchmark", "Experiment"]

EVAL_KINDS: tuple[EvalKind, ...] = ("Eval", "Benchmark", "Experiment")
"""The kinds of manifests that are read into an `Eval`."""

SCORE_FROM = 0.9
"""The score in [0, 1] from which a task of a benchmark passes, and the benchmark too."""


class ScoringModel(StrEnum):
    """How scores come about: a file each in `domain/results/models/`.

    `fixtures`: a trial passes when every assertion does, and a fixture's score is the share of its
    trials that pass. `weighted`: a trial's score is the weighted mean of its assertions' scores, it
    passes from `passScore` on, and a fixture's score is the mean of its trials' scores. `benchmark`
    is that of tasks and their criteria, `experiment` that of scorers, each with axes.
    """

    FIXTURES = "fixtures"
    WEIGHTED = "weighted"
    BENCHMARK = "benchmark"
    EXPERIMENT = "experiment"

    @property
    def graded(self) -> bool:
        """Whether trials have scores between 0 and 1, which are compared in place of passes."""
        return self is not ScoringModel.FIXTURES


class ScoringSpec(Spec):
    """How an Eval's score is made of its fixtures, and which score is enough."""

    model: ScoringModel = Field(
        default=ScoringModel.FIXTURES,
        description="`fixtures`: a trial passes when all assertions do. `weighted`: its score is "
        "their weighted mean, and it passes from `passScore` on.",
    )
    pass_score: float = Field(
        default=0.8,
        ge=0,
        le=1,
        description="With `model: weighted`, the score in [0, 1] from which a trial passes.",
    )
    pass_threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="The score in [0, 1] that the Eval must reach. If absent, nothing may regress "
        "where there is a baseline, and elsewhere the threshold is 1.",
    )
    severity_weights: dict[Severity, Weight] = Field(
        default={},
        description="Weights of fixtures by severity, in place of low 0.5, medium 1, high 2, "
        "critical 4.",
    )

    @property
    def graded(self) -> bool:
        """Whether trials have scores between 0 and 1, which are compared in place of passes."""
        return self.model.graded

    @property
    def trials_pass(self) -> float | None:
        """What makes a trial pass: the score it needs; None where every assertion has to pass."""
        return self.pass_score if self.graded else None

    @property
    def usual_threshold(self) -> float:
        """The threshold in [0, 1] where none is written and there is nothing to compare with.

        That of an experiment is 0: its scores say how good answers are, not which are enough.
        """
        usual = {ScoringModel.BENCHMARK: SCORE_FROM, ScoringModel.EXPERIMENT: 0.0}
        return usual.get(self.model, 1.0)

    def weight(self, severity: Severity) -> float:
        """The weight of a fixture of this severity."""
        return self.severity_weights.get(severity, DEFAULT_WEIGHTS[severity])


class ExecutionSpec(Spec):
    """How trials run."""

    parallel: int = Field(default=4, ge=1, le=1000, description="Trials side by side.")
    timeout_seconds: float = Field(
        default=300,
        gt=0,
        le=86_400,
        description="Seconds for one answer of the agent; set-up is not counted.",
    )
    reps_per_fixture: int = Field(
        default=1,
        ge=1,
        le=1000,
        description="How often each fixture runs at first; it runs more often where it looks "
        "worse than before.",
    )
    deterministic: bool = Field(
        default=False,
        description="Whether the agent always does the same. Then one flip is a regression, if a "
        "second trial agrees on each side.",
    )


class Eval(Value):
    """An Eval as read from one revision. `digest` covers its meaning, without places.

    `kind` is what its manifest is; `version` that of a benchmark, as in `slug@version`. `feedback`
    is what people said of answers to the rows of an experiment: its digest does not cover that.
    """

    kind: EvalKind = "Eval"
    name: Name
    version: str = ""
    labels: dict[str, str] = {}
    target_agent: Name
    fixture_selector: FixtureSelector | None = None
    fixtures: tuple[Name, ...] = ()
    vars: JsonObject = {}
    judge: JudgeSpec = JudgeSpec()
    scoring: ScoringSpec = ScoringSpec()
    execution: ExecutionSpec = ExecutionSpec()
    schedule: str | None = None
    time_zone: str = "UTC"
    sealed: bool = False
    feedback: tuple[Feedback, ...] = ()
    place: Place
    places: dict[str, Place] = {}
    path: str
    digest: str
