"""Reads a Benchmark: an Eval by tasks and criteria, and a fixture for each task.

One engine runs both, so a task is a fixture `BENCHMARK.TASK`, and a criterion an assertion with a
label, a weight and an axis. A check that is not known here does not make the manifest wrong: it is
a criterion that fails with "unsupported", and a task without criteria fails likewise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from gateval.domain.base import JsonObject
from gateval.domain.manifests.evaluation import Eval, ExecutionSpec
from gateval.domain.manifests.fixture import AssertionSpec, Fixture, FixtureInput
from gateval.domain.manifests.scoring import SCORE_FROM, ScoringModel, ScoringSpec
from gateval.domain.repository.place import Problem
from gateval.formats.gathering import Pending
from gateval.formats.native.kinds.assertion import read_check
from gateval.formats.native.kinds.benchmark.written import BenchmarkBody, BenchmarkDocument
from gateval.formats.native.written import ManifestKind, Read, Source, canonical, meaning
from gateval.formats.problems.validation import problem_at, validate

NO_CRITERIA = "no criteria"
"""What stands in place of the criteria of a task that has none."""

_NOTHING = "This task has no criteria, so nothing shows that it is done"

_Checks: TypeAlias = Mapping[tuple[int, int], AssertionSpec]
"""The checks as read, by the numbers of task and criterion."""


def read(source: Source) -> Read:
    """Return the Eval that the benchmark is, its tasks as fixtures, and all problems."""
    document, problems = validate(BenchmarkDocument, source.body, source.document)
    checks, broken = _checks(source)
    problems += broken
    if document is None or problems:
        return Read(None, problems)
    if document.spec.source is not None:
        return Read(Pending(source.path, source.document), ())
    if doubles := tuple(_doubles(source, document.spec)):
        return Read(None, doubles)
    fixtures = tuple(
        _task(source, document, number, checks) for number in range(len(document.spec.tasks))
    )
    return Read(_eval(source, document, fixtures), (), fixtures)


def _checks(source: Source) -> tuple[_Checks, tuple[Problem, ...]]:
    """Return the checks of all criteria, and what is wrong with them."""
    found: dict[tuple[int, int], AssertionSpec] = {}
    problems: list[Problem] = []
    tasks = source.document.data_at(("spec", "tasks"))
    for number, task in enumerate(tasks if isinstance(tasks, list) else []):
        criteria = task.get("criteria") if isinstance(task, dict) else None
        for at in range(len(criteria) if isinstance(criteria, list) else 0):
            path = ("spec", "tasks", number, "criteria", at, "check")
            check, broken = read_check(source, path)
            problems += broken
            if check is not None:
                found[number, at] = check
    return found, tuple(problems)


def _doubles(source: Source, spec: BenchmarkBody) -> Iterator[Problem]:
    seen: set[str] = set()
    for number, task in enumerate(spec.tasks):
        if task.name in seen:
            message = f'There are two tasks "{task.name}". Give one another name.'
            yield problem_at(source.document, ("spec", "tasks", number, "name"), message)
        seen.add(task.name)


def _eval(source: Source, written: BenchmarkDocument, tasks: tuple[Fixture, ...]) -> Eval:
    spec, metadata = written.spec, written.metadata
    apart = canonical(spec)
    del apart["tasks"]
    apart.pop("playground", None)  # it is the tasks'
    return Eval(
        kind=written.kind,
        name=metadata.name,
        version=spec.version,
        labels=metadata.labels,
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
        place=source.document.place(("metadata", "name")),
        places=source.document.key_places(("spec",), depth=2),
        path=source.path,
        digest=meaning(written.kind, metadata, apart),
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
