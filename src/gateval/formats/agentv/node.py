"""Values of AgentV's documents, where they stand, and the spellings that people use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.paths import nearest
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.strict_json import object_of
from gateval.domain.text import quote
from gateval.formats.agentv.recognition import CASES_KEYS, SETTINGS
from gateval.formats.problems import expected_sentence, problem_at, validate
from gateval.formats.yaml_document import Document, DocumentPath

ALIKE = 0.8
"""How alike an unknown key and a known one are (0 to 1) where the known one was probably meant."""


class AgentvNode(BaseModel):
    """What stands in a file of AgentV. Keys that it does not know it passes over, and so do we."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


_DIGIT = re.compile(r"\d")
_MOST = 10
"""Unknown keys of a mapping that are compared with the known ones, of which none has a digit."""


@lru_cache(maxsize=4096)
def _nearly(key: str, known: tuple[str, ...]) -> str:
    """Return the hint at the known key that was probably meant. Files have many keys alike."""
    near = [one for one in known if abs(len(one) - len(key)) <= len(key) // 2]
    return nearest(key, near, likeness=ALIKE) if len(key) <= 40 else ""


Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Node:
    """A value at a path of a document. `value` is what is meant: templates are filled in there.

    `told` takes what is wrong with it, and with what is in it.
    """

    document: Document
    path: DocumentPath
    value: JsonValue
    told: list[Problem] = field(default_factory=list)

    @property
    def place(self) -> SourceLocation:
        """Where the value begins."""
        return self.document.place(self.path)

    @property
    def key_place(self) -> SourceLocation:
        """Where its key stands."""
        return self.document.key_place(self.path)

    def at(self, step: str | int) -> Node:
        """Return the value at a key or index; None where there is none."""
        inner: JsonValue = None
        if isinstance(self.value, dict) and isinstance(step, str):
            inner = self.value.get(step)
        elif isinstance(self.value, list) and isinstance(step, int) and step < len(self.value):
            inner = self.value[step]
        return Node(self.document, (*self.path, step), inner, self.told)

    def first(self, keys: Iterable[str]) -> Node | None:
        """Return the value at the first of these keys that has one."""
        return next((one for key in keys if (one := self.at(key)).value is not None), None)

    def items(self) -> Iterator[Node]:
        """Yield the entries of a list; nothing for anything else."""
        if isinstance(self.value, list):
            yield from (self.at(index) for index in range(len(self.value)))

    def having(self, value: JsonValue) -> Node:
        """Return another value that stands at the same place."""
        return Node(self.document, self.path, value, self.told)

    def problem(self, message: str) -> Problem:
        """Return a problem with this value."""
        return problem_at(self.document, self.path, message)

    def sort_problem(self, *wanted: str) -> Problem:
        """Return that the value is of another sort than these."""
        return self.problem(expected_sentence(list(wanted), self.value))

    def tell(self, message: str) -> None:
        """Tell a problem with this value."""
        self.told.append(self.problem(message))

    def tell_sort(self, *wanted: str) -> None:
        """Tell that the value is of another sort than these."""
        self.told.append(self.sort_problem(*wanted))

    def read(self, model: type[Model]) -> tuple[Model | None, tuple[Problem, ...]]:
        """Return the value as `model`, and everything that is wrong with it."""
        return validate(model, self.value, self.document, self.path)

    def tell_slips(self, known: tuple[str, ...]) -> None:
        """Tell each key that is nearly one of the known ones, and is none."""
        written = object_of(self.value)
        unknown = [key for key in written if key not in known and not _DIGIT.search(key)]
        for key in unknown[:_MOST]:
            if hint := _nearly(key, known):
                one = self.at(key)
                wrong = one.problem(f"Unknown key {quote(key)}.{hint}")
                self.told.append(wrong.model_copy(update={"place": one.key_place}))


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


def tell_refused(node: Node) -> None:
    """Tell each key that would silently mean nothing."""
    for key, message in _REFUSED.items():
        if node.at(key).value is not None:
            node.at(key).tell(message)


_EVALUATORS = ("assertions", "assert", "evaluators", "execution.evaluators", "execution.assertions")
_TARGETS = ("execution.target", "execution.targets", "target")
OF_SUITE = (CASES_KEYS, INPUT, _EVALUATORS, _TARGETS)
OF_CASE = (INPUT, EXPECTED, OUTCOME, METADATA, _EVALUATORS, _TARGETS[:2])
OF_TURN = (INPUT, EXPECTED, ("assertions", "assert"))
OF_TARGET = (("command", "command_template"), ("grader_target", "judge_target"))


def tell_twice(node: Node, groups: tuple[tuple[str, ...], ...]) -> None:
    """Tell each spelling of a group that says something else than the first."""

    def at(dotted: str) -> Node:
        one = node
        for step in dotted.split("."):
            one = one.at(step)
        return one

    for group in groups:
        written = [(name, one) for name in group if (one := at(name)).value is not None]
        for name, one in written[1:]:
            first, known = written[0]
            if one.value != known.value:
                said = f"`{name}` and `{first}` are one thing here, and they differ. Keep one."
                node.told.append(one.problem(said).model_copy(update={"place": one.key_place}))
