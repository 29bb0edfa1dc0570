"""What people write of a benchmark."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic.alias_generators import to_camel

from gateval.domain.base import Name, Spec
from gateval.domain.manifests.evaluation import JudgeSpec
from gateval.domain.manifests.fixtures.playground import PlaygroundSpec
from gateval.formats.native.cron import check_cron, check_zone
from gateval.formats.native.kinds.benchmark.task import TaskBody
from gateval.formats.native.written import Written

_BESIDE_FROM = {"source", "target_agent", "runs_per_task", "deterministic", "schedule", "time_zone"}
"""What a benchmark says itself that takes its tasks from another one."""


class BenchmarkBody(Spec):
    """`spec` of a Benchmark."""

    version: str = Field(
        default="1",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,49}$",
        description="The version of the tasks: the benchmark is called `NAME@VERSION`.",
    )
    target_agent: Name = Field(description="The Agent under test.")
    timeout_seconds: float = Field(
        default=300, gt=0, le=86_400, description="Seconds for one task; set-up is not counted."
    )
    concurrency: int = Field(default=1, ge=1, le=1000, description="Tasks side by side.")
    runs_per_task: int = Field(
        default=1,
        ge=1,
        le=1000,
        description="How often each task runs at first; it runs more often where it looks worse "
        "than before.",
    )
    deterministic: bool = Field(
        default=False,
        description="Whether the agent always does the same. Then one drop is a regression, if a "
        "second run agrees on each side.",
    )
    pass_threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="The mean score that is asked for. If absent, nothing may regress where there "
        "is a baseline, and elsewhere it is 0.9.",
    )
    judge: JudgeSpec = JudgeSpec()
    schedule: Annotated[str, AfterValidator(check_cron)] | None = Field(
        default=None, description="Cron expression of five fields: when a job by the clock runs it."
    )
    time_zone: Annotated[str, AfterValidator(check_zone)] = Field(
        default="UTC", description="The time zone of `schedule`, such as `Europe/Berlin`."
    )
    sealed: bool = Field(
        default=False,
        description="Whether criteria and evidence are shown to holders of the key alone "
        "(`policy.recipients`). What lies in a sealed file always is.",
    )
    playground: PlaygroundSpec | None = Field(
        default=None, description="The playground of the tasks that have none of their own."
    )
    source: str | None = Field(
        default=None,
        alias="from",
        min_length=1,
        max_length=2_000,
        description="In place of `tasks`, the URL of a file with a benchmark that another "
        "repository publishes, as `gateval lock` pins it. Its host is one of `policy.sources`.",
    )
    tasks: tuple[TaskBody, ...] = Field(
        default=(), description="The tasks; there are some, unless `from` says where they are."
    )

    @model_validator(mode="after")
    def _has_tasks_from_one_place(self) -> Self:
        if bool(self.tasks) is (self.source is not None):
            raise ValueError("A benchmark has `tasks`, or takes them `from` another one")
        said = self.model_fields_set - _BESIDE_FROM if self.source is not None else ()
        if said:
            key = to_camel(min(said))
            raise ValueError(f"`{key}` is what the published benchmark says. Remove it here")
        return self


class BenchmarkDocument(Written):
    """Tasks for an Agent, each with criteria that are weighed, and a score for the whole."""

    kind: Literal["Benchmark"]
    spec: BenchmarkBody
