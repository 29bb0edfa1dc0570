"""The Eval and what stands beside it: calibrations of its judge, scripted models, sealed files.

Benchmarks and Experiments are read into it, too: one engine runs all three.

The first line of what is encrypted names the file, so that one sealed file is never taken for
another, and holds a salt: digests of what is sealed are published, and without a salt anybody could
try guesses against them.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

from pydantic import Field, JsonValue

from gateval.domain.base import JsonObject, ModelName, Name, Spec, Value
from gateval.domain.manifests.fixture import Origin, Reference
from gateval.domain.manifests.messages import Feedback
from gateval.domain.manifests.scoring import ScoringSpec
from gateval.domain.paths import SourceLocation


class CalibrationExample(Spec):
    """One labelled example."""

    trace_ref: str | None = Field(default=None, description="The trace it was taken from.")
    input: JsonValue = Field(default=None, description="What the agent was asked.")
    candidate_output: str = Field(description="What the agent answered.")
    human_score: float = Field(ge=0, le=1, description="The score in [0, 1] that a person gave.")
    human_label: str | None = Field(default=None, description="Why, in that person's words.")
    disagreement_reason: str | None = Field(
        default=None, description="Why judge and person disagreed, where that was settled."
    )
    expected: JsonValue = Field(
        default=None, description="A good answer, where the judge is shown one."
    )
    reference: JsonValue = Field(
        default=None, description="What a good answer rests on, where the judge is shown that."
    )
    origin: Origin | None = Field(
        default=None, description="Who took it from which trace, where a challenge added it."
    )

    @property
    def given(self) -> Reference:
        """What the judge is shown of a good answer."""
        return Reference(answer=self.expected, context=self.reference)

    @property
    def asked(self) -> list[JsonValue]:
        """All of it that the judge is asked with, and the score that a person gave."""
        grounds = [] if self.given == Reference() else [self.expected, self.reference]
        return [self.input, self.candidate_output, self.human_score, *grounds]


class Calibration(Value):
    """A JudgeCalibration as read from one revision."""

    kind: Literal["JudgeCalibration"] = "JudgeCalibration"
    name: Name
    labels: dict[str, str] = {}
    rubric: str
    judge_models: tuple[ModelName, ...] = Field(min_length=1)
    examples: tuple[CalibrationExample, ...] = Field(min_length=1)
    place: SourceLocation
    path: str
    digest: str


SCRIPTED_FOLDER = ".gateval/scripted"
SCRIPTED_PROVIDER = "scripted"


class When(Spec):
    """Conditions of a rule; all that are given must hold. Texts match as substrings."""

    user: str | None = Field(default=None, description="Part of the last user message.")
    tool: str | None = Field(
        default=None, description="Part of the last message, which must be a tool result."
    )
    system: str | None = Field(default=None, description="Part of the system prompt.")
    turn: int | None = Field(
        default=None, ge=1, description="How many assistant messages came before, plus 1."
    )
    model: str | None = Field(default=None, description="The whole model id asked for.")


class ScriptedToolCall(Spec):
    """A tool call that the scripted model makes."""

    name: str = Field(min_length=1, description="The tool.")
    arguments: JsonObject = Field(default={}, description="Its arguments.")


class ScriptedRule(Spec):
    """When it applies, and what the model then says."""

    when: When = Field(default=When(), description="When the rule applies; always, if absent.")
    reply: str = Field(default="", description="What the model says.")
    tool_calls: tuple[ScriptedToolCall, ...] = Field(
        default=(), description="The tools that the model calls."
    )
    probability: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="The share of cases in which the rule applies, drawn from the seed, the "
        "conversation, the side and the repetition, so that a rerun draws the same.",
    )
    latency_seconds: float = Field(
        default=0.0, ge=0, le=600, description="Seconds that the answer takes."
    )


class ScriptedSpec(Spec):
    """A scripted model: rules that answer like a model. The first rule that applies answers."""

    description: str = Field(default="", description="What the script is for.")
    seed: int = Field(default=0, description="Where `probability` begins to draw.")
    rules: tuple[ScriptedRule, ...] = Field(
        min_length=1,
        description="The rules, in the order in which they are tried. A moderation flags the "
        "categories that the reply names.",
    )
    dimensions: int | None = Field(
        default=None,
        ge=1,
        le=4096,
        description="Numbers in an embedding, if the request does not say; 256, if absent.",
    )


class ScriptedModel(Value):
    """A scripted model as read from one revision; asked for as `scripted/NAME`."""

    name: str
    spec: ScriptedSpec
    path: str
    digest: str


def script_name(model: str | None) -> str | None:
    """Return NAME of `scripted/NAME`, else None."""
    prefix = f"{SCRIPTED_PROVIDER}/"
    return model.removeprefix(prefix) if model and model.startswith(prefix) else None


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
    place: SourceLocation
    places: dict[str, SourceLocation] = {}
    path: str
    digest: str


SUFFIXES = (".yaml.age", ".yml.age")
"""How the name of a sealed file of manifests ends."""

_FIRST_LINE = re.compile(rb"# gateval sealed v1 ([0-9a-f]{32}) ([^\r\n]+)\n")

SEALED_PROBLEM = (
    "Something is wrong here in what is sealed; the words stay sealed. Whoever has the key opens "
    "the file with `gateval unseal`; `gateval seal` says what it is, or `gateval validate` with "
    "the plain file in its place."
)

SEALED_WARNING = (
    "Something here in what is sealed is allowed, but hardly meant; the words stay sealed. Whoever "
    "has the key unseals the file, and `gateval validate` tells while it lies there plainly."
)


class SealedContent(NamedTuple):
    """What a sealed file holds: its own path from the root, 32 hex digits of salt, the manifests.

    `text` is None where the first line is not as `gateval seal` writes it.
    """

    path: str
    salt: str
    text: bytes | None


def is_sealed(path: str) -> bool:
    """Whether a file of manifests is sealed, by its path; as people are shown it, too."""
    return path.removesuffix('"').endswith(SUFFIXES)


def with_first_line(path: str, salt: str, text: bytes) -> bytes:
    """Return what is encrypted: manifests (`text`) for the sealed file `path`."""
    return f"# gateval sealed v1 {salt} {path}\n".encode() + text


def without_first_line(content: bytes) -> SealedContent:
    """Return what `with_first_line` put together; lines count as in the manifests themselves."""
    found = _FIRST_LINE.match(content)
    if found is None:
        return SealedContent("", "", None)
    path = found[2].decode("utf-8", "replace")
    return SealedContent(path, found[1].decode(), content[found.end() :])
