"""What people write in a suite, under every spelling of versions 2.6.1 to 4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.repository.place import Problem
from gateval.formats.agentv.node import AgentvNode, Node
from gateval.formats.agentv.recognition import CASES_KEYS, SETTINGS

INPUT = ("input_messages", "input")
EXPECTED = ("expected_messages", "expected_output")
OUTCOME = ("criteria", "expected_outcome", "outcome")
METADATA = ("metadata", "sidecar")
"""Spellings of one thing; the first that is there counts."""

Share = Annotated[float, Field(ge=0, le=1)]
Entries = list[JsonValue] | None


class TrialsBody(AgentvNode):
    """How often each case runs."""

    count: int = Field(default=1, ge=1, le=1000)
    strategy: Literal["pass_at_k", "mean", "confidence_interval"] = "pass_at_k"


class TargetRef(AgentvNode):
    """A target of a matrix."""

    name: str = Field(min_length=1)


class ExecutionBody(AgentvNode):
    """How a suite or a case runs."""

    target: str | None = None
    targets: Annotated[list[str | TargetRef], Field(min_length=1)] | None = None
    evaluators: Entries = None
    workers: Annotated[int, Field(ge=1, le=1000)] | None = None
    skip_defaults: bool = False
    trials: TrialsBody | None = None
    threshold: Share | None = None


class SuiteBody(AgentvNode):
    """A suite beside its cases."""

    description: str | None = None
    target: str | None = None
    execution: ExecutionBody | None = None
    evaluator: str | None = None
    evaluators: Entries = None
    assertions: Entries = None
    assert_: Entries = Field(default=None, alias="assert")
    input_files: list[str] | None = None
    metadata: JsonObject | None = None


class CaseBody(AgentvNode):
    """A case beside its messages and evaluators."""

    id: str = Field(min_length=1, max_length=500)
    criteria: str | None = None
    expected_outcome: str | None = None
    outcome: str | None = None
    conversation_id: str | None = None
    rubrics: Entries = None
    evaluator: str | None = None
    evaluators: Entries = None
    assertions: Entries = None
    assert_: Entries = Field(default=None, alias="assert")
    execution: ExecutionBody | None = None
    sidecar: JsonObject | None = None
    metadata: JsonObject | None = None
    vars: JsonObject | None = None
    input_files: list[str] | None = None
    mode: Literal["conversation"] | None = None
    turns: list[JsonObject] | None = None
    aggregation: Literal["mean", "min", "max"] = "mean"
    on_turn_failure: Literal["continue", "stop"] = "continue"


EXECUTION_KEYS = (
    *ExecutionBody.model_fields, "cache", "cache_path", "budget_usd", "fail_on_error",
    "otel_file", "keep_workspaces", "verbose", "assertions",
)  # fmt: skip
SUITE_KEYS = (*SETTINGS, *CASES_KEYS)
CASE_KEYS = (
    *(name for name in CaseBody.model_fields if name != "assert_"), "assert", *INPUT, *EXPECTED,
    "workspace", "depends_on", "on_dependency_failure", "suite", "window_size", "name",
    "description", "tags", "preprocessors", "governance",
)  # fmt: skip

_REFUSED: Mapping[str, str] = {
    "workspace": "The gate prepares no workspace: a program starts in an export of its own, which "
    "`cwd` and `gateval` of its target describe. Remove `workspace`.",
    "preprocessors": "The gate converts no files before they are judged. Commit them as text, and "
    "remove `preprocessors`.",
    "depends_on": "Every case runs by itself here, so that each can be repeated alone. Write the "
    "cases that build on each other as `turns` of one, and remove `depends_on`.",
}
"""Keys that change what is measured, and that nothing here does."""


def refused_in_case(node: Node) -> Iterator[Problem]:
    """Yield a problem for each setting that only a suite has."""
    inside = node.at("execution")
    for key in ("trials", "workers"):
        if inside.at(key).value is not None:
            said = f"All cases of a suite have the same `{key}` here. Write it in the suite's."
            yield inside.at(key).problem(said)


def refused(node: Node) -> Iterator[Problem]:
    """Yield a problem for each key that would silently mean nothing."""
    for key, message in _REFUSED.items():
        if node.at(key).value is not None:
            yield node.at(key).problem(message)
