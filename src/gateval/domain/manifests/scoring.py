"""How scores come about: what every manifest format is compiled to, before there is any data.

A reader gives each Eval one scoring model: how the criteria of a trial make its score, when it
passes, and whether passes are counted or scores compared. After the readers nothing asks of which
format or kind an Eval is, but for what it is called.
"""

from __future__ import annotations

from typing import ClassVar, Final, NamedTuple, cast

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from gateval.domain.base import JsonObject, Spec, Value
from gateval.domain.manifests.fixture import DEFAULT_WEIGHTS, Severity, Weight

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

for _model in (
    ScoringModel.FIXTURES,
    ScoringModel.WEIGHTED,
    ScoringModel.BENCHMARK,
    ScoringModel.EXPERIMENT,
):
    MODELS[_model.name] = _model


class ScoringSpec(Spec):
    """How an Eval's score is made of its fixtures, and which score is enough.

    A trial with a score passes from `pass_score` on. `pass_threshold` is the score in [0, 1] that
    the Eval must reach; if absent, nothing may regress where there is a baseline, and elsewhere the
    model's usual one counts. `severity_weights` are those of fixtures, in place of the defaults.
    """

    model: ScoringModel = ScoringModel.FIXTURES
    pass_score: float = Field(default=0.8, ge=0, le=1)
    pass_threshold: float | None = Field(default=None, ge=0, le=1)
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
