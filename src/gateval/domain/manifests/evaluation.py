"""The Eval: which agent, which fixtures, which judge, which threshold.

Benchmarks and Experiments are read into it, too: one engine runs all three.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from gateval.domain.base import JsonObject, ModelName, Name, Spec, Value
from gateval.domain.manifests.fixtures.feedback import Feedback
from gateval.domain.manifests.scoring import ScoringSpec
from gateval.domain.manifests.scripted import SCRIPTED_PROVIDER
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
