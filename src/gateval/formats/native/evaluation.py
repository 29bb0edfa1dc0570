"""Reads an Eval."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, StringConstraints

from gateval.domain.base import Name, Spec
from gateval.domain.manifests.evaluation import (
    Eval,
    ExecutionSpec,
    FixtureSelector,
    JudgeSpec,
    ScoringSpec,
)
from gateval.domain.manifests.fixture import Severity, Weight
from gateval.formats.base import Source
from gateval.formats.native.cron import check_cron, check_zone
from gateval.formats.native.written import ManifestKind, ReadDocument, Written, canonical, meaning
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
    severity_weights: dict[Severity, Weight] = {}
    """Weights of fixtures by severity, in place of low 0.5, medium 1, high 2, critical 4."""


def _of_evals(scoring: WrittenScoring) -> WrittenScoring:
    if scoring.model in {"benchmark", "experiment"}:
        kind = scoring.model.capitalize()
        raise ValueError(f"The scoring model `{scoring.model}` is that of `kind: {kind}`.")
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
    vars: dict[VarName, JsonValue] = {}
    """What fills in `{{ vars.NAME }}` in the fixtures of this Eval."""
    judge: JudgeSpec = JudgeSpec()
    scoring: Annotated[WrittenScoring, AfterValidator(_of_evals)] = WrittenScoring()
    execution: ExecutionSpec = ExecutionSpec()
    schedule: Annotated[str, AfterValidator(check_cron)] | None = None
    """Cron expression of five fields: a job that runs by the clock runs the Eval when it is due,
    and every time without one."""
    time_zone: Annotated[str, AfterValidator(check_zone)] = "UTC"
    """The time zone of `schedule`, such as `Europe/Berlin`."""
    sealed: bool = False
    """Whether what its fixtures ask, and the evidence on them, is shown to holders of the key alone
    (`policy.recipients`). What lies in a sealed file always is."""


class EvalDocument(Written):
    """A quality test of an Agent: which fixtures, which judge, which threshold."""

    kind: Literal["Eval"]
    spec: EvalBody


def read(source: Source) -> ReadDocument:
    """Return the Eval and its problems; `places` goes two levels deep (`spec.fixtures[0]`)."""
    document, problems = validate(EvalDocument, source.body, source.document)
    if document is None:
        return ReadDocument(None, problems)
    spec = document.spec
    evaluation = Eval(
        name=document.metadata.name,
        labels=document.metadata.labels,
        target_agent=spec.target_agent,
        fixture_selector=spec.fixture_selector,
        fixtures=spec.fixtures,
        vars=spec.vars,
        judge=spec.judge,
        scoring=ScoringSpec.model_validate(spec.scoring.model_dump()),
        execution=spec.execution,
        schedule=spec.schedule,
        time_zone=spec.time_zone,
        sealed=spec.sealed,
        place=source.document.place(("metadata", "name")),
        places=source.document.key_places(("spec",), depth=2),
        path=source.path,
        digest=meaning(document.kind, document.metadata, canonical(spec)),
    )
    return ReadDocument(evaluation, problems)


EVAL = ManifestKind("Eval", EvalDocument, read)
