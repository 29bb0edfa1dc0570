"""Reads a Benchmark, its own or one that another repository publishes: an Eval, and a fixture
for each task.

One engine runs both, so a task is a fixture `BENCHMARK.TASK`, and a criterion an assertion with a
label, a weight and an axis. A check that is not known here does not make the manifest wrong: it is
a criterion that fails with "unsupported", and a task without criteria fails likewise.

Its tasks are what the file at a URL holds, as `gateval lock` pinned it: the same for everybody who
runs them. Nothing but the Agent is said here, so that scores can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import Field, JsonValue, field_validator, model_validator
from pydantic.alias_generators import to_camel

from gateval.domain.base import JsonObject, Name, Spec, digest
from gateval.domain.manifests.catalogue import Broken
from gateval.domain.manifests.evaluation import (
    SCORE_FROM,
    Eval,
    ExecutionSpec,
    JudgeSpec,
    ScoringModel,
    ScoringSpec,
    is_sealed,
)
from gateval.domain.manifests.fixture import (
    AssertionSpec,
    AssertionWeight,
    Fixture,
    FixtureInput,
    InputType,
    Reference,
    ToolReplay,
    own_checks,
)
from gateval.domain.manifests.messages import MESSAGES_LIMIT
from gateval.domain.manifests.playground import PlaygroundSpec
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.strict_json import list_of, value_at
from gateval.domain.text import quote
from gateval.formats.base import Gathered, GatheringContext, Pending, Source
from gateval.formats.native.cron import Schedule, TimeZone
from gateval.formats.native.fixture import read_check
from gateval.formats.native.manifests import broken_manifest
from gateval.formats.native.written import (
    ManifestKind,
    ReadDocument,
    Written,
    canonical,
    envelope,
    meaning,
)
from gateval.formats.problems import problem_at, validate
from gateval.formats.yaml_reader import read_documents


class CriterionBody(Spec):
    """One entry of `criteria`."""

    label: str = Field(min_length=1, max_length=200)
    """What has to hold, in words."""
    weight: AssertionWeight = 1.0
    """How much it counts in the task's score, 0 for not at all."""
    axis: str | None = Field(default=None, min_length=1, max_length=100)
    """The quality it measures: criteria with the same axis have a score together."""
    turn: int | None = Field(default=None, ge=1)
    """The turn whose answer it looks at, 1 that to the instruction. Default: the whole conversation
    and its last answer."""
    check: JsonObject
    """One assertion, as fixtures have them: its `type` and its options. One of an unknown type
    fails."""

    @field_validator("check")
    @classmethod
    def _is_one(cls, check: JsonObject) -> JsonObject:
        if not isinstance(check.get("type"), str):
            raise ValueError("A check needs its `type`, as text.")  # noqa: TRY004 - read as a problem
        return check


class ScenarioBody(Spec):
    """`scenario` of a task: what comes in besides the instruction."""

    trigger: InputType = InputType.PROMPT
    """Where the task would come from in production."""
    input: JsonObject = {}
    """What comes in with the instruction: further keys of the payload."""

    @field_validator("input")
    @classmethod
    def _leaves_the_prompt(cls, given: JsonObject) -> JsonObject:
        for key in ("prompt", "entities"):
            if key in given:
                where = "`instruction`" if key == "prompt" else "`entities` of the task"
                raise ValueError(f"`{key}` is what {where} says. Give this another name.")
        return given


class TaskBody(Spec):
    """One entry of `tasks`."""

    name: Name
    """What the task is called; one per benchmark."""
    description: str = ""
    """What it is about, in a sentence; reports show it."""
    instruction: str = Field(min_length=1)
    """What the agent is asked to do."""
    turns: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(), max_length=MESSAGES_LIMIT - 1
    )
    """What the user says then, one after the other, each after the agent's answer."""
    scenario: ScenarioBody = ScenarioBody()
    entities: dict[str, JsonValue] = {}
    """What the task is about, by name; the agent gets it with its input."""
    tags: tuple[str, ...] = ()
    """Words to find it by: labels that exist."""
    timeout_seconds: float | None = Field(default=None, gt=0, le=86_400)
    """Seconds for the task; the benchmark's if absent. A task over its time fails."""
    criteria: tuple[CriterionBody, ...] = ()
    """What must hold at the end. A task without any fails."""
    playground: PlaygroundSpec | None = None
    """A folder that is made anew for each run of the task; the benchmark's if absent."""
    reference: Reference | None = None
    """What a good answer is, for judges and checks; agents get none."""
    tool_replay: tuple[ToolReplay, ...] = ()
    """Recorded answers of tools, given instead of calling them."""
    shadow_tools: tuple[str, ...] = ()
    """Tools whose calls are only recorded and answered with `{"shadow": true}`."""

    @model_validator(mode="after")
    def _has_the_turns_looked_at(self) -> Self:
        most = 1 + len(self.turns) if self.turns else 0
        for one in self.criteria:
            if one.turn is not None and one.turn > most:
                there = f"{most} turns" if most else "no `turns`"
                raise ValueError(f"A criterion looks at turn {one.turn}, and there are {there}")
        return self


_BESIDE_FROM = {"source", "target_agent", "runs_per_task", "deterministic", "schedule", "time_zone"}
"""What a benchmark says itself that takes its tasks from another one."""


class BenchmarkBody(Spec):
    """`spec` of a Benchmark."""

    version: str = Field(default="1", pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,49}$")
    """The version of the tasks: the benchmark is called `NAME@VERSION`."""
    target_agent: Name
    """The Agent under test."""
    timeout_seconds: float = Field(default=300, gt=0, le=86_400)
    """Seconds for one task; set-up is not counted."""
    concurrency: int = Field(default=1, ge=1, le=1000)
    """Tasks side by side."""
    runs_per_task: int = Field(default=1, ge=1, le=1000)
    """How often each task runs at first; it runs more often where it looks worse than before."""
    deterministic: bool = False
    """Whether the agent always does the same. Then one drop is a regression, if a second run agrees
    on each side."""
    pass_threshold: float | None = Field(default=None, ge=0, le=1)
    """The mean score that is asked for. If absent, nothing may regress where there is a baseline,
    and elsewhere it is 0.9."""
    judge: JudgeSpec = JudgeSpec()
    schedule: Schedule = None
    """Cron expression of five fields: when a job by the clock runs it; without one, once a day and
    on each new commit."""
    time_zone: TimeZone = "UTC"
    """The time zone of `schedule`, such as `Europe/Berlin`."""
    sealed: bool = False
    """Whether criteria and evidence are shown to holders of the key alone (`policy.recipients`).
    What lies in a sealed file always is."""
    playground: PlaygroundSpec | None = None
    """The playground of the tasks that have none of their own."""
    source: str | None = Field(default=None, alias="from", min_length=1, max_length=2_000)
    """In place of `tasks`, the URL of a file with a benchmark that another repository publishes, as
    `gateval lock` pins it. Its host is one of `policy.sources`."""
    tasks: tuple[TaskBody, ...] = ()
    """The tasks; there are some, unless `from` says where they are."""

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


NO_CRITERIA = "no criteria"
"""What stands in place of the criteria of a task that has none."""

_NOTHING = "This task has no criteria, so nothing shows that it is done"

_Checks: TypeAlias = Mapping[tuple[int, int], AssertionSpec]
"""The checks as read, by the numbers of task and criterion."""


def read(source: Source) -> ReadDocument:
    """Return the Eval that the benchmark is, its tasks as fixtures, and all problems."""
    document, problems = validate(BenchmarkDocument, source.body, source.document)
    checks, broken = _checks(source)
    problems += broken
    if document is None or problems:
        return ReadDocument(None, problems)
    if document.spec.source is not None:
        return ReadDocument(Pending(source.path, source.document), ())
    names = [task.name for task in document.spec.tasks]
    if doubles := [number for number, name in enumerate(names) if name in names[:number]]:
        said = 'There are two tasks "{}". Give one another name.'
        at = [(("spec", "tasks", one, "name"), said.format(names[one])) for one in doubles]
        return ReadDocument(None, tuple(problem_at(source.document, *one) for one in at))
    fixtures = tuple(
        _task(source, document, number, checks) for number in range(len(document.spec.tasks))
    )
    return ReadDocument(_eval(source, document, fixtures), (), fixtures)


def _checks(source: Source) -> tuple[_Checks, tuple[Problem, ...]]:
    """Return the checks of all criteria, and what is wrong with them."""
    found: dict[tuple[int, int], AssertionSpec] = {}
    problems: list[Problem] = []
    for number, task in enumerate(list_of(source.document.data_at(("spec", "tasks")))):
        criteria = value_at(task, "criteria")
        for at in range(len(criteria) if isinstance(criteria, list) else 0):
            path = ("spec", "tasks", number, "criteria", at, "check")
            check, broken = read_check(source, path)
            problems += broken
            if check is not None:
                found[number, at] = check
    return found, tuple(problems)


def _eval(source: Source, written: BenchmarkDocument, tasks: tuple[Fixture, ...]) -> Eval:
    spec = written.spec
    apart = canonical(spec)
    del apart["tasks"]
    apart.pop("playground", None)  # it is the tasks'
    return Eval(
        **envelope(source, written),
        kind=written.kind,
        version=spec.version,
        target_agent=spec.target_agent,
        fixtures=tuple(one.name for one in tasks),
        judge=spec.judge,
        scoring=ScoringSpec(
            model=ScoringModel.BENCHMARK,
            pass_score=SCORE_FROM,
            pass_threshold=spec.pass_threshold,
        ),
        execution=ExecutionSpec(
            parallel=spec.concurrency,
            timeout_seconds=spec.timeout_seconds,
            reps_per_fixture=spec.runs_per_task,
            deterministic=spec.deterministic,
        ),
        schedule=spec.schedule,
        time_zone=spec.time_zone,
        sealed=spec.sealed,
        places=dict(source.document.key_places(("spec",), depth=2)),
        digest=meaning(written.kind, written.metadata, apart),
    )


def _task(source: Source, written: BenchmarkDocument, number: int, checks: _Checks) -> Fixture:
    task = written.spec.tasks[number]
    place = source.document.place(("spec", "tasks", number, "name"))
    criteria = tuple(
        checks[number, at].model_copy(
            update={"name": one.label, "weight": one.weight, "axis": one.axis, "turn": one.turn}
        )
        for at, one in enumerate(task.criteria)
    )
    none = AssertionSpec(type="none", name=NO_CRITERIA, unsupported=_NOTHING, place=place)
    payload: JsonObject = {**task.scenario.input, "prompt": task.instruction}
    if task.entities:
        payload["entities"] = dict(task.entities)
    asked = criteria or (none,)
    means = canonical(task) | {"criteria": [one.meaning for one in asked]}
    playground = task.playground or written.spec.playground
    if playground is not None:
        means["playground"] = canonical(playground)
    return Fixture(
        name=f"{written.metadata.name}.{task.name}",
        labels=dict.fromkeys(task.tags, "true"),
        target_agent=written.spec.target_agent,
        description=task.description,
        input=FixtureInput(type=task.scenario.trigger, payload=payload),
        turns=(task.instruction, *task.turns) if task.turns else (),
        reference=task.reference,
        assertions=asked,
        playground=playground,
        tool_replay=task.tool_replay,
        shadow_tools=task.shadow_tools,
        timeout_seconds=task.timeout_seconds,
        place=place,
        path=source.path,
        digest=meaning("Task", written.metadata, means),
    )


BENCHMARK = ManifestKind("Benchmark", BenchmarkDocument, read)


def gather(source: Source, around: GatheringContext) -> Gathered:
    """Return the benchmark of a manifest, with the tasks of the file that it names.

    Raises `RepositoryError` where the file may not be fetched in this run, or was not.
    """
    path, document = source.path, source.document
    own = frozenset({path})
    written, _ = validate(BenchmarkDocument, source.body, document)
    if written is None or written.spec.source is None:
        return Gathered(own=own)
    try:
        evaluation, tasks = _published(written.spec.source, around)
    except ValueError as error:
        problem = problem_at(document, ("spec", "from"), str(error))
        broken: Broken = broken_manifest("Benchmark", document, [problem])
        return Gathered(problems=(problem,), broken=(broken,), own=own)
    here = {**envelope(source, written), "target_agent": written.spec.target_agent, "places": {}}
    fixtures = tuple(_published_task(one, evaluation.name, here) for one in tasks)
    runs = {
        "reps_per_fixture": written.spec.runs_per_task,
        "deterministic": written.spec.deterministic,
    }
    changed = {
        **here,
        "fixtures": tuple(one.name for one in fixtures),
        "execution": evaluation.execution.model_copy(update=runs),
        "schedule": written.spec.schedule,
        "time_zone": written.spec.time_zone,
        "digest": digest([evaluation.digest, written.spec.model_dump(mode="json")]),
    }
    found = evaluation.model_copy(update=changed)
    return Gathered(evals=(found,), fixtures=fixtures, own=own)


def _published(url: str, around: GatheringContext) -> tuple[Eval, tuple[Fixture, ...]]:
    """Return the benchmark at a URL as its own repository has it. Raises `ValueError`."""
    if is_sealed(url):
        raise ValueError(
            "This benchmark is sealed, and its owners hold the key. Open a pull request to their "
            "repository: a run of theirs measures it."
        )
    documents, problems = read_documents(url, around.foreign(url))
    if problems:
        raise ValueError(_wrong(url, problems[0]))
    ours = [one for one in documents if one.data_at(("kind",)) == "Benchmark"]
    if len(ours) != 1:
        raise ValueError(f"{quote(url)} holds {len(ours) or 'no'} benchmarks; it must be one.")
    read: ReadDocument = BENCHMARK.read(Source(url, ours[0], around.registries))
    if read.problems:
        raise ValueError(_wrong(url, read.problems[0]))
    if not isinstance(read.manifest, Eval):
        said = f"{quote(url)} takes its own tasks from elsewhere. Name that file."
        raise ValueError(said)  # noqa: TRY004 - told as a problem
    for task in read.fixtures:
        if any(True for _ in task.attached()) or task.playground or any(own_checks(task)):
            raise ValueError(
                f"The task {quote(task.name)} names files of its repository, which are not "
                "fetched. Copy the benchmark with its files into this repository."
            )
    return read.manifest, read.fixtures


def _wrong(url: str, problem: Problem) -> str:
    place = f"{problem.place.line}:{problem.place.column}"
    return f"{quote(url)} is no benchmark that this version reads: at {place}, {problem.message}"


def _published_task(theirs: Fixture, before: str, here: dict[str, Any]) -> Fixture:
    """Return a task of the benchmark `before` as one of the manifest that stands `here`."""
    place = here["place"]
    changed = {
        **{key: here[key] for key in ("target_agent", "place", "places", "path")},
        "name": f"{here['name']}{theirs.name.removeprefix(before)}",
        "assertions": tuple(_placed(one, place) for one in theirs.assertions),
    }
    return theirs.model_copy(update=changed)


def _placed(spec: AssertionSpec, place: SourceLocation) -> AssertionSpec:
    parts = tuple(_placed(one, place) for one in spec.parts)
    return spec.model_copy(update={"place": place, "parts": parts})
