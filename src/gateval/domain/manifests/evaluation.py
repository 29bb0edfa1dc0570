"""The Eval manifest: which agent, which fixtures, which judge, which threshold."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gateval.domain.base import ModelName, Name, Spec, Value
from gateval.domain.manifests.severity import DEFAULT_WEIGHTS, Severity
from gateval.domain.place import Place


class FixtureSelector(Spec):
    """Selects fixtures that carry all of these labels."""

    match_labels: dict[str, str] = Field(min_length=1)


class JudgeSpec(Spec):
    """The judge of an Eval. `model` is `provider/model-id`."""

    model: ModelName | None = None
    temperature: float = Field(default=0.0, ge=0, le=2)
    calibration: Name | None = None
    min_agreement: float | None = Field(default=None, ge=-1, le=1)


class ScoringSpec(Spec):
    """`pass_threshold` in [0, 1]; `severity_weights` replaces single default weights."""

    pass_threshold: float = Field(default=1.0, ge=0, le=1)
    severity_weights: dict[Severity, Annotated[float, Field(gt=0)]] = {}

    def weight(self, severity: Severity) -> float:
        """The weight of a fixture of this severity."""
        return self.severity_weights.get(severity, DEFAULT_WEIGHTS[severity])


class ExecutionSpec(Spec):
    """How trials run. `timeout_seconds` bounds one candidate's answer; set-up is not counted."""

    parallel: int = Field(default=4, ge=1, le=1000)
    timeout_seconds: float = Field(default=300, gt=0, le=86_400)
    reps_per_fixture: int = Field(default=1, ge=1, le=1000)


class Eval(Value):
    """An Eval as read from one revision. `digest` covers its meaning, without places."""

    kind: Literal["Eval"] = "Eval"
    name: Name
    labels: dict[str, str] = {}
    target_agent: Name
    fixture_selector: FixtureSelector | None = None
    fixtures: tuple[Name, ...] = ()
    judge: JudgeSpec = JudgeSpec()
    scoring: ScoringSpec = ScoringSpec()
    execution: ExecutionSpec = ExecutionSpec()
    schedule: str | None = None
    sealed: bool = False
    place: Place
    places: dict[str, Place] = {}
    path: str
    digest: str
