"""The Eval and what stands beside it: calibrations of its judge, scripted models, sealed files.

Benchmarks and Experiments are read into it, too: one engine runs all three.

The first line of what is encrypted names the file, so that one sealed file is never taken for
another, and holds a salt: digests of what is sealed are published, and without a salt anybody could
try guesses against them.

A reader gives each Eval one scoring model: how the criteria of a trial make its score, when it
passes, and whether passes are counted or scores compared. After the readers nothing asks of which
format or kind an Eval is, but for what it is called.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, Final, Literal, NamedTuple, Self, TypeAlias, cast

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    JsonValue,
    ModelWrapValidatorHandler,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from gateval.domain.base import JsonObject, ModelName, Name, Positive, Share, Spec, Value
from gateval.domain.manifests.fixture import DEFAULT_WEIGHTS, Origin, Reference, Severity, Weight
from gateval.domain.manifests.messages import Feedback
from gateval.domain.problems import SourceLocation

TOLERANCE: Final = 1e-9
"""Scores are sums of products of decimals; a threshold is met within this distance."""

SCORE_FROM: Final = 0.9
"""The score in [0, 1] from which a task of a benchmark passes, and the benchmark too."""


MODELS: Final[dict[str, ScoringModel]] = {}
"""The scoring models that files name: of Evals, of AgentV's suites, of benchmarks (Verial's page on
benchmark runs) and of experiments (the article "Evals - testing AI agents")."""


class Grade(NamedTuple):
    """What a score is called from `least` on or, where that is `above`, beyond it."""

    name: str
    least: float
    above: bool = False

    def holds(self, score: float) -> bool:
        """Whether a score in [0, 1] is called so, if no better grade is its own."""
        return score > self.least if self.above else score >= self.least - TOLERANCE


class ScoringModel(Value):
    """How scores come about. Files hold one that is known here by its name alone.

    Without `graded`, a trial passes when every criterion does, and a fixture's score is the share
    of its trials that pass: passes are counted and compared by exact tests. With it, a trial's
    score is the weighted mean of its criteria's, it passes from `passScore` on, and a fixture's
    score is the mean of its trials' scores, which are compared.

    `required`: a required criterion that fails, or one of which a required part does, makes the
    trial score 0; elsewhere such a part makes its criterion score 0. `weightless` is why a trial
    fails in which nothing has weight. `grades` are what scores are called, the best first.
    `usual_threshold` is the threshold where none is written and there is nothing to compare with;
    one of 0 asks for nothing. `tasks`: its fixtures are tasks, each with a phase and a status, and
    of a run that is cancelled what was completed is kept. `scorers`: each criterion has an average
    over all fixtures, and so has what people say.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,39}$")
    graded: bool = False
    required: bool = False
    weightless: str = ""
    grades: tuple[Grade, ...] = ()
    usual_threshold: float = Field(default=1.0, ge=0, le=1)
    tasks: bool = False
    scorers: bool = False

    FIXTURES: ClassVar[ScoringModel]
    WEIGHTED: ClassVar[ScoringModel]
    BENCHMARK: ClassVar[ScoringModel]
    EXPERIMENT: ClassVar[ScoringModel]

    @property
    def named(self) -> bool:
        """Whether its criteria have names that people gave them."""
        return self.tasks or self.scorers

    def called(self, score: float | None) -> str:
        """Return what a score in [0, 1] is called; empty for an unknown one, or where none is."""
        found = (one.name for one in self.grades if score is not None and one.holds(score))
        return next(found, "")

    @model_validator(mode="wrap")
    @classmethod
    def _by_name(cls, given: object, read: ModelWrapValidatorHandler[ScoringModel]) -> ScoringModel:
        if not isinstance(given, str):
            found = read(given)
            if MODELS.get(found.name, found) != found:
                raise ValueError(f"`{found.name}` is the name of another scoring model")
            return found
        if given not in MODELS:
            raise ValueError(f"known scoring models are {', '.join(MODELS)}")
        return MODELS[given]

    @model_serializer(mode="wrap")
    def _name_alone(self, write: SerializerFunctionWrapHandler) -> str | JsonObject:
        return self.name if MODELS.get(self.name) == self else cast("JsonObject", write(self))

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema of files: a name, or the whole of one that has none here."""
        whole = handler.resolve_ref_schema(handler(schema))
        return {"anyOf": [{"enum": list(MODELS), "type": "string"}, whole]}


ScoringModel.FIXTURES = ScoringModel(name="fixtures")
ScoringModel.WEIGHTED = ScoringModel(
    name="weighted",
    graded=True,
    required=True,
    weightless="nothing that was looked at has weight.",
)
ScoringModel.BENCHMARK = ScoringModel(
    name="benchmark",
    graded=True,
    weightless="fail, scores 0: none of its criteria has weight, whatever they say.",
    grades=(Grade("pass", SCORE_FROM), Grade("partial", 0.0, above=True), Grade("fail", 0.0)),
    usual_threshold=SCORE_FROM,
    tasks=True,
)
ScoringModel.EXPERIMENT = ScoringModel(
    name="experiment", graded=True, usual_threshold=0.0, scorers=True
)

for _name in ("fixtures", "weighted", "benchmark", "experiment"):
    MODELS[_name] = getattr(ScoringModel, _name.upper())


class ScoringSpec(Spec):
    """How an Eval's score is made of its fixtures, and which score is enough.

    A trial with a score passes from `pass_score` on. `pass_threshold` is the score in [0, 1] that
    the Eval must reach; if absent, nothing may regress where there is a baseline, and elsewhere the
    model's usual one counts. `severity_weights` are those of fixtures, in place of the defaults.
    """

    model: ScoringModel = ScoringModel.FIXTURES
    pass_score: float = Field(default=0.8, ge=0, le=1)
    pass_threshold: Share | None = None
    severity_weights: dict[Severity, Weight] = {}

    @property
    def graded(self) -> bool:
        """Whether trials have scores between 0 and 1, which are compared in place of passes."""
        return self.model.graded

    @property
    def trials_pass(self) -> float | None:
        """What makes a trial pass: the score it needs; None where every assertion has to pass."""
        return self.pass_score if self.graded else None

    def weight(self, severity: Severity) -> float:
        """The weight of a fixture of this severity."""
        return self.severity_weights.get(severity, DEFAULT_WEIGHTS[severity])


class ExampleStep(Spec):
    """A step of a labelled run, between what the agent was asked and its answer."""

    kind: Literal["user", "assistant", "tool_call", "tool_result", "error"]
    """What it is."""
    text: str = ""
    """What was said, or what a tool answered; empty for a call."""
    tool: str | None = None
    """The tool that is called, or that answers."""
    arguments: JsonObject | None = None
    """What it is called with."""


class CalibrationExample(Spec):
    """One labelled example."""

    trace_ref: str | None = None
    """The trace it was taken from."""
    input: JsonValue = None
    """What the agent was asked."""
    trace: tuple[ExampleStep, ...] = Field(default=(), max_length=200, exclude_if=operator.not_)
    """What it did before it answered, so that the judge is shown what it sees in trials."""
    candidate_output: str
    """What the agent answered."""
    human_score: Share
    """The score in [0, 1] that a person gave."""
    human_label: str | None = None
    """Why, in that person's words."""
    disagreement_reason: str | None = None
    """Why judge and person disagreed, where that was settled."""
    expected: JsonValue = None
    """A good answer, where the judge is shown one."""
    reference: JsonValue = None
    """What a good answer rests on, where the judge is shown that."""
    origin: Origin | None = None
    """Who took it from which trace, where a challenge added it."""

    @property
    def given(self) -> Reference:
        """What the judge is shown of a good answer."""
        return Reference(answer=self.expected, context=self.reference)

    @property
    def asked(self) -> list[JsonValue]:
        """All of it that the judge is asked with, and the score that a person gave."""
        grounds = [] if self.given == Reference() else [self.expected, self.reference]
        steps = [one.model_dump(mode="json") for one in self.trace]
        trace: list[JsonValue] = [{"trace": [*steps]}] if steps else []
        return [self.input, self.candidate_output, self.human_score, *grounds, *trace]


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

    user: str | None = None
    """Part of the last user message."""
    tool: str | None = None
    """Part of the last message, which must be a tool result."""
    system: str | None = None
    """Part of the system prompt."""
    turn: Positive | None = None
    """How many assistant messages came before, plus 1."""
    model: str | None = None
    """The whole model id asked for."""


class ScriptedToolCall(Spec):
    """A tool call that the scripted model makes."""

    name: str = Field(min_length=1)
    """The tool."""
    arguments: JsonObject = {}
    """Its arguments."""


class ScriptedRule(Spec):
    """When it applies, and what the model then says."""

    when: When = When()
    """When the rule applies; always, if absent."""
    reply: str = ""
    """What the model says."""
    tool_calls: tuple[ScriptedToolCall, ...] = ()
    """The tools that the model calls."""
    probability: float = Field(default=1.0, gt=0, le=1)
    """The share of cases in which the rule applies, drawn from the seed, the conversation, the side
    and the repetition, so that a rerun draws the same."""
    latency_seconds: float = Field(default=0.0, ge=0, le=600)
    """Seconds that the answer takes."""


class ScriptedSpec(Spec):
    """A scripted model: rules that answer like a model. The first rule that applies answers."""

    description: str = ""
    """What the script is for."""
    seed: int = 0
    """Where `probability` begins to draw."""
    rules: tuple[ScriptedRule, ...] = Field(min_length=1)
    """The rules, in the order in which they are tried. A moderation flags the categories that the
    reply names."""
    dimensions: int | None = Field(default=None, ge=1, le=4096)
    """Numbers in an embedding, if the request does not say; 256, if absent."""


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

    match_labels: dict[str, str] = Field(min_length=1)
    """Labels that a fixture must carry, each with this value."""


class JuryRule(StrEnum):
    """How several judges come to one verdict, each of which passes or fails the run."""

    MEDIAN = "median"
    """The verdict in the middle counts; of an even number, the lower of the two."""
    MAJORITY = "majority"
    """What more than half of them say counts, with the mean of their scores; else it fails."""
    UNANIMOUS = "unanimous"
    """The lowest verdict counts, so that it passes where all pass it."""


class Escalation(Spec):
    """A stronger judge, asked where the score of the first leaves doubt."""

    model: ModelName
    """The stronger judge, as `provider/model-id`: where it is asked, its word counts."""
    band: tuple[Share, Share]
    """The lowest and the highest score of the first judge that leave doubt."""

    @field_validator("band")
    @classmethod
    def _from_low_to_high(cls, band: tuple[float, float]) -> tuple[float, float]:
        if band[0] >= band[1]:
            raise ValueError("the band goes from a lower score to a higher one")
        return band


JURY_LIMIT = 9

SPLIT = 0.4
"""The spread of a jury's scores over which it is split, if nothing else is written."""


class JudgeSpec(Spec):
    """The judge of an Eval: one model, several that make a jury, or one with a stronger behind it.

    What only several need is not in files of Evals that have one.
    """

    model: ModelName | None = None
    """The model that judges, as `provider/model-id`."""
    models: tuple[ModelName, ...] = Field(
        default=(), max_length=JURY_LIMIT, exclude_if=operator.not_
    )
    """In place of `model`, the models of a jury: two to nine different ones."""
    rule: JuryRule = Field(default=JuryRule.MEDIAN, exclude_if=JuryRule.MEDIAN.__eq__)
    """How a jury comes to its verdict."""
    split: float = Field(default=SPLIT, ge=0, le=1, exclude_if=SPLIT.__eq__)
    """The spread of a jury's scores over which it is split: it is asked a second time then."""
    escalate: Escalation | None = Field(default=None, exclude_if=operator.not_)
    """A stronger judge for what leaves `model` in doubt. Wants a calibration of 100 labels."""
    allow_self: bool = Field(default=False, exclude_if=operator.not_)
    """Whether one of several judges may be a model of the Agent that is judged."""
    temperature: float = Field(default=0.0, ge=0, le=2)
    """Sampling temperature of the judge."""
    calibration: Name | None = None
    """The JudgeCalibration that this judge is measured against."""
    min_agreement: float | None = Field(default=None, ge=-1, le=1)
    """Cohen's kappa that the judge has to reach in its calibration, or its word counts for nothing.
    0.6, if it has a calibration and this is absent."""
    max_injected: Share | None = Field(default=None, exclude_if=lambda most: most is None)
    """The largest share of attacks that may talk this judge round, or its word counts for nothing:
    bounds the upper limit of 95 % for it. Wants a calibration."""

    @model_validator(mode="after")
    def _is_one_judge(self) -> Self:
        if self.models and (self.model is not None or self.escalate is not None):
            raise ValueError("a jury has `models`, and neither `model` nor `escalate` beside them")
        if self.models and len(set(self.models)) < max(len(self.models), 2):
            raise ValueError("a jury has at least two `models`, each named once")
        if not self.models and (self.rule is not JuryRule.MEDIAN or self.split != SPLIT):
            raise ValueError("`rule` and `split` are those of a jury: name its `models`")
        if self.escalate is not None and self.model in {None, self.escalate.model}:
            raise ValueError("`escalate` names another model than `model`, which is asked first")
        return self

    @property
    def asked(self) -> tuple[str, ...]:
        """Every model that it may ask, in order."""
        first = (self.model,) if self.model else self.models
        return (*first, self.escalate.model) if self.escalate else first

    @property
    def named(self) -> str:
        """What people read of who judges; empty where nobody does."""
        if self.models:
            return f"{', '.join(self.models[:-1])} and {self.models[-1]} ({self.rule})"
        if self.escalate is None:
            return self.model or ""
        low, high = self.escalate.band
        return f"{self.model}, from {low:g} to {high:g} {self.escalate.model}"

    @property
    def is_panel(self) -> bool:
        """Whether its verdict may be made of several models'."""
        return len(self.asked) > 1

    @property
    def wants_measure(self) -> bool:
        """Whether its word counts only if it was measured."""
        asked = (self.calibration, self.min_agreement, self.max_injected)
        return any(one is not None for one in asked)

    @property
    def scripts(self) -> tuple[str, ...]:
        """The names of the scripted models that it may ask."""
        return tuple(name for model in self.asked if (name := script_name(model)) is not None)

    @property
    def is_scripted(self) -> bool:
        """Whether rules answer in place of all its models, the same each time."""
        return bool(self.asked) and len(self.scripts) == len(self.asked)

    @property
    def terms(self) -> JsonObject:
        """All of it that decides what it says; not by what it is measured."""
        apart = {"calibration", "min_agreement", "max_injected", "allow_self"}
        return self.model_dump(mode="json", exclude=apart)

    def alone(self, model: str) -> JudgeSpec:
        """Return one of its models as a judge of its own, which nobody has calibrated."""
        return JudgeSpec(model=model, temperature=self.temperature)

    def renamed(self, names: Mapping[str, str]) -> JudgeSpec:
        """Return the same with scripted models by other names: `names` has the new ones."""

        def new(model: str) -> str:
            script = script_name(model)
            known = script is not None and script in names
            return f"{SCRIPTED_PROVIDER}/{names[script or '']}" if known else model

        return self.replace(
            model=self.model and new(self.model),
            models=tuple(map(new, self.models)),
            escalate=self.escalate and self.escalate.replace(model=new(self.escalate.model)),
        )


EvalKind: TypeAlias = Literal["Eval", "Benchmark", "Experiment"]

EVAL_KINDS: tuple[EvalKind, ...] = ("Eval", "Benchmark", "Experiment")
"""The kinds of manifests that are read into an `Eval`."""


class ExecutionSpec(Spec):
    """How trials run."""

    parallel: int = Field(default=4, ge=1, le=1000)
    """Trials side by side."""
    timeout_seconds: float = Field(default=300, gt=0, le=86_400)
    """Seconds for one answer of the agent; set-up is not counted."""
    reps_per_fixture: int = Field(default=1, ge=1, le=1000)
    """How often each fixture runs at first; it runs more often where it looks worse than before."""
    deterministic: bool = False
    """Whether the agent always does the same. Then one flip is a regression, if a second trial
    agrees on each side."""


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
    places: Mapping[str, SourceLocation] = {}
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
