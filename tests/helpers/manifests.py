"""Small stand-ins for the registries of higher rooms, and short ways to read a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

from gateval.domain.base import Spec
from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.evaluation import Calibration, Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.formats.base import Parsed, Registries
from gateval.formats.native.manifests import read_manifests


class ToolOptions(Spec):
    """A tool is called, or not, before or after others."""

    tool: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class SequenceOptions(Spec):
    """Tools are called in this order."""

    tools: tuple[str, ...] = Field(min_length=1, description="In order.")


class TextOptions(Spec):
    """The final message holds a text."""

    value: str


def _no_parenthesis(pattern: str) -> str:
    if "(" in pattern:
        raise ValueError("this pattern opens a group")
    return pattern


class PatternOptions(Spec):
    """The final message matches."""

    pattern: Annotated[str, AfterValidator(_no_parenthesis)]


class CostOptions(Spec):
    """No more tokens than this."""

    max_tokens: int = Field(gt=0)


class FileOption(Spec):
    """A file."""

    file: str


class JudgeOptions(Spec):
    """A judge scores."""

    kind: str = "rubric"
    rubric: str
    min_score: float = Field(default=0.5, ge=0, le=1)


class LikenessOptions(Spec):
    """A model measures how like a text is."""

    to: str
    model: str


class NoOptions(Spec):
    """Nothing beyond the common keys."""


class UpWhen(Spec):
    """When the service is up."""

    path: str
    timeout_seconds: float = Field(default=30, gt=0)


class ServiceOptions(Spec):
    """A runtime with keys of its own."""

    ready: UpWhen | None = None
    instances: int = Field(default=1, ge=1)


REGISTRIES = Registries(
    assertions={
        "toolCalled": ToolOptions,
        "toolNotCalled": ToolOptions,
        "toolSequence": SequenceOptions,
        "contains": TextOptions,
        "notContains": TextOptions,
        "regex": PatternOptions,
        "cost": CostOptions,
        "judge": JudgeOptions,
        "similar": LikenessOptions,
    },
    runtimes={"model": NoOptions, "command": NoOptions, "service": ServiceOptions},
    judged=frozenset({"judge"}),
    providers=frozenset({"openai", "anthropic", "gemini", "scripted"}),
)


def parse(text: str | bytes, path: str = "evals/a.yaml") -> Parsed:
    """Read a manifest file with the stand-in registries."""
    data = text if isinstance(text, bytes) else text.encode()
    return read_manifests(path, data, REGISTRIES)


def problems(text: str | bytes) -> list[str]:
    """The problems of a file as `line:column path: message`."""
    return [str(problem).removeprefix("evals/a.yaml:") for problem in parse(text).problems]


def catalogue_of(parsed: Sequence[Parsed], *, flawless: bool = True) -> Catalogue:
    """The catalogue of several files; `flawless`: they must be free of problems."""
    assert not flawless or [str(problem) for one in parsed for problem in one.problems] == []
    manifests = [manifest for one in parsed for manifest in one.manifests]
    return Catalogue(
        agents=tuple(m for m in manifests if isinstance(m, Agent)),
        evals=tuple(m for m in manifests if isinstance(m, Eval)),
        fixtures=tuple(m for m in manifests if isinstance(m, Fixture)),
        calibrations=tuple(m for m in manifests if isinstance(m, Calibration)),
        broken=tuple(one for each in parsed for one in each.broken),
    )
