"""What people write of an experiment."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from gateval.domain.base import JsonObject, ModelName, Name, Spec
from gateval.domain.manifests.agent import LayerSpec
from gateval.domain.manifests.evaluation import ExecutionSpec, JudgeSpec
from gateval.formats.native.cron import check_cron, check_zone
from gateval.formats.native.written import Written


class TaskSpec(Spec):
    """A Python function that is measured: it takes an input and returns what came of it."""

    python: str = Field(
        pattern=r"^[^/:][^:]*\.py:[A-Za-z_]\w*$",
        max_length=500,
        description="The file, relative to the manifest's folder, and the function in it: "
        "`task.py:answer`. It may be `async`.",
    )
    interpreter: tuple[str, ...] = Field(
        default=("python3",),
        min_length=1,
        description="The command that starts Python (3.8 or newer) with what the function imports.",
    )
    models: tuple[ModelName, ...] = Field(
        default=(), description="Models as `provider/model-id` that the function may ask."
    )
    setup: tuple[str, ...] | LayerSpec = Field(
        default=(), description="Installs what the function needs, as `runtime.setup` of an Agent."
    )
    include: tuple[str, ...] = Field(
        default=(),
        description="Patterns of further files that it needs, relative to the manifest's folder; "
        "with a leading `/`, to the repository root.",
    )
    watch: tuple[str, ...] | None = Field(
        default=None,
        description="Patterns of the files that the function is, relative to the manifest's "
        "folder. Default: everything there.",
    )
    env: dict[str, str] = Field(
        default={}, description="Environment variables with literal values; no secrets."
    )

    @field_validator("interpreter")
    @classmethod
    def _takes_words_as_they_are(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        if any("{" in word for word in words):
            raise ValueError("Nothing is filled in here: write words without braces.")
        return words


class FeedbackSpec(Spec):
    """What people said of answers."""

    file: str = Field(
        min_length=1,
        max_length=1000,
        description="The path of a `.csv` or `.jsonl` file, as that of `data`.",
    )
    scorer: str | None = Field(
        default=None,
        description="The judged scorer that they speak of: what they said of answers makes the "
        "JudgeCalibration `NAME-feedback`.",
    )


class ExperimentBody(Spec):
    """`spec` of an Experiment."""

    target_agent: Name | None = Field(default=None, description="The Agent that is measured.")
    task: TaskSpec | None = Field(
        default=None, description="In place of `targetAgent`, a function that is measured."
    )
    data: str | tuple[JsonObject, ...] = Field(
        min_length=1,
        max_length=10_000,
        description="The golden set: rows with `input`, `expected`, `reference` and `id`, or the "
        "path of a file with such (`.json`, `.jsonl`, `.csv`, `.yaml`), from the manifest's folder "
        "or, after a `/`, from the repository's root.",
    )
    scorers: tuple[str | JsonObject, ...] = Field(
        min_length=1,
        max_length=100,
        description="What scores each answer between 0 and 1: names, or mappings with `type` and "
        "options, `name` and `weight`.",
    )
    judge: JudgeSpec = JudgeSpec()
    execution: ExecutionSpec = ExecutionSpec()
    pass_threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="The mean of all scorers' averages that is asked for. If absent, none is: "
        "what blocks is a score that fell, beyond what chance does.",
    )
    feedback: FeedbackSpec | None = Field(
        default=None, description="What people said of answers, shown beside the scores."
    )
    schedule: Annotated[str, AfterValidator(check_cron)] | None = Field(
        default=None,
        description="Cron expression of five fields: a job that runs by the clock runs the "
        "experiment when it is due, and every time without one.",
    )
    time_zone: Annotated[str, AfterValidator(check_zone)] = Field(
        default="UTC", description="The time zone of `schedule`, such as `Europe/Berlin`."
    )

    @model_validator(mode="after")
    def _measures_one_thing(self) -> Self:
        if (self.target_agent is None) is (self.task is None):
            raise ValueError("Write `targetAgent` or `task`, one of them.")
        return self


class ExperimentDocument(Written):
    """A golden set that an Agent or a function answers, and the scorers of its answers."""

    kind: Literal["Experiment"]
    spec: ExperimentBody
