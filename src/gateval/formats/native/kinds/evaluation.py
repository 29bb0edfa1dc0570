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
    ScoringModel,
    ScoringSpec,
)
from gateval.formats.native.cron import check_cron, check_zone
from gateval.formats.native.written import ManifestKind, Read, Source, Written, canonical, meaning
from gateval.formats.problems.validation import validate

VarName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=100)]
"""A name as it can stand behind `vars.`."""


def _of_evals(scoring: ScoringSpec) -> ScoringSpec:
    if scoring.model in {ScoringModel.BENCHMARK, ScoringModel.EXPERIMENT}:
        kind = scoring.model.value.capitalize()
        raise ValueError(f"The scoring model `{scoring.model}` is that of `kind: {kind}`.")
    return scoring


class EvalBody(Spec):
    """`spec` of an Eval."""

    target_agent: Name = Field(description="The Agent under test.")
    fixture_selector: FixtureSelector | None = Field(
        default=None, description="Takes in every fixture with these labels, now and later."
    )
    fixtures: tuple[Name, ...] = Field(
        default=(),
        description="Fixtures by name, in addition to those that the selector finds. The name of "
        "one with cases stands for all of these.",
    )
    vars: dict[VarName, JsonValue] = Field(
        default={},
        description="What fills in `{{ vars.NAME }}` in the fixtures of this Eval.",
    )
    judge: JudgeSpec = JudgeSpec()
    scoring: Annotated[ScoringSpec, AfterValidator(_of_evals)] = ScoringSpec()
    execution: ExecutionSpec = ExecutionSpec()
    schedule: Annotated[str, AfterValidator(check_cron)] | None = Field(
        default=None,
        description="Cron expression of five fields: a job that runs by the clock runs the Eval "
        "when it is due, and every time without one.",
    )
    time_zone: Annotated[str, AfterValidator(check_zone)] = Field(
        default="UTC", description="The time zone of `schedule`, such as `Europe/Berlin`."
    )
    sealed: bool = Field(
        default=False,
        description="Whether what its fixtures ask, and the evidence on them, is shown to holders "
        "of the key alone (`policy.recipients`). What lies in a sealed file always is.",
    )


class EvalDocument(Written):
    """A quality test of an Agent: which fixtures, which judge, which threshold."""

    kind: Literal["Eval"]
    spec: EvalBody


def read(source: Source) -> Read:
    """Return the Eval and its problems; `places` goes two levels deep (`spec.fixtures[0]`)."""
    document, problems = validate(EvalDocument, source.body, source.document)
    if document is None:
        return Read(None, problems)
    spec = document.spec
    evaluation = Eval(
        name=document.metadata.name,
        labels=document.metadata.labels,
        target_agent=spec.target_agent,
        fixture_selector=spec.fixture_selector,
        fixtures=spec.fixtures,
        vars=spec.vars,
        judge=spec.judge,
        scoring=spec.scoring,
        execution=spec.execution,
        schedule=spec.schedule,
        time_zone=spec.time_zone,
        sealed=spec.sealed,
        place=source.document.place(("metadata", "name")),
        places=source.document.key_places(("spec",), depth=2),
        path=source.path,
        digest=meaning(document.kind, document.metadata, canonical(spec)),
    )
    return Read(evaluation, problems)


EVAL = ManifestKind("Eval", EvalDocument, read)
