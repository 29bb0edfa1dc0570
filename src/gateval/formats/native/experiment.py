"""From an Experiment and its golden set to what the engine runs: an Eval, and a fixture a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.catalogue import Broken
from gateval.domain.manifests.evaluation import Calibration, Eval, ScoringModel, ScoringSpec
from gateval.domain.manifests.fixture import Fixture, input_of
from gateval.domain.problems import Problem
from gateval.domain.text import quote
from gateval.formats.base import Gathered, GatheringContext, Pending, Source
from gateval.formats.native.cases import CaseRow, cases_of, read_cases
from gateval.formats.native.experiment_document import (
    ExperimentDocument,
    Named,
    named_file,
    task_agent,
)
from gateval.formats.native.golden_set import (
    GoldenRow,
    RowsRead,
    Scorers,
    golden_rows,
    read_labels,
    read_scorers,
)
from gateval.formats.native.manifests import broken_manifest
from gateval.formats.native.written import ManifestKind, ReadDocument, canonical, meaning
from gateval.formats.problems import PROBLEM_LIMIT, validate

NAME_LIMIT = 253
"""Characters of a name."""


def row_name(written: ExperimentDocument, row: GoldenRow) -> str:
    """Return what the fixture of a row is called."""
    return f"{written.metadata.name}.{row.word}"


def long_names(rows: Mapping[str, GoldenRow]) -> list[Problem]:
    """Return a problem for each row whose fixture would have too long a name."""
    return [
        Problem(
            place=row.place,
            message=f"The name {quote(name)} would be too long for a fixture. Shorten the `id`.",
        )
        for name, row in rows.items()
        if len(name) > NAME_LIMIT
    ]


def row_fixture(
    source: Source, written: ExperimentDocument, target: str, row: GoldenRow, scorers: Scorers
) -> Fixture:
    """Return a row as a fixture."""
    asked = input_of(row.input)
    means: JsonObject = {
        "input": canonical(asked),
        "reference": canonical(row.reference),
        "scorers": [one.meaning for one in scorers.specs],
    }
    return Fixture(
        name=row_name(written, row),
        target_agent=target,
        input=asked,
        reference=row.reference,
        assertions=scorers.specs,
        place=row.place,
        path=source.path,
        digest=meaning("Row", written.metadata, means),
    )


def experiment_eval(
    source: Source, written: ExperimentDocument, target: str, fixtures: Sequence[Fixture]
) -> Eval:
    """Return the experiment as an Eval of these fixtures; its digest covers neither these nor
    feedback.
    """
    spec, metadata = written.spec, written.metadata
    apart = {key: one for key, one in canonical(spec).items() if key not in {"data", "feedback"}}
    return Eval(
        kind=written.kind,
        name=metadata.name,
        labels=metadata.labels,
        target_agent=target,
        fixtures=tuple(one.name for one in fixtures),
        judge=spec.judge,
        scoring=ScoringSpec(
            model=ScoringModel.EXPERIMENT, pass_score=0.0, pass_threshold=spec.pass_threshold
        ),
        execution=spec.execution,
        schedule=spec.schedule,
        time_zone=spec.time_zone,
        place=source.document.place(("metadata", "name")),
        places=source.document.key_places(("spec",), depth=2),
        path=source.path,
        digest=meaning(written.kind, metadata, apart),
    )


@dataclass
class _Found:
    """Grows experiment by experiment."""

    agents: list[Agent] = field(default_factory=list)
    evals: list[Eval] = field(default_factory=list)
    fixtures: list[Fixture] = field(default_factory=list)
    calibrations: list[Calibration] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    own: set[str] = field(default_factory=set)


def gather(pending: Sequence[Pending], around: GatheringContext) -> Gathered:
    """Return what the Experiments of a revision and the files that they name say together."""
    found = _Found()
    for one in pending:
        if one.document is None:
            continue
        source = Source(one.path, one.document, around.registries)
        found.own.add(one.path)
        problems = _experiment(source, around, found)[:PROBLEM_LIMIT]
        if problems:
            found.problems += problems
            told = (*one.document.problems, *problems)
            found.broken.append(broken_manifest("Experiment", one.document, told))
    return Gathered(
        agents=tuple(found.agents),
        evals=tuple(found.evals),
        fixtures=tuple(found.fixtures),
        calibrations=tuple(found.calibrations),
        problems=tuple(found.problems),
        broken=tuple(found.broken),
        own=frozenset(found.own),
    )


def _experiment(source: Source, around: GatheringContext, found: _Found) -> list[Problem]:
    """Read one; if anything is wrong with it nothing of it is taken, and the problems returned."""
    written, wrong = validate(ExperimentDocument, source.body, source.document)
    scorers = read_scorers(source)
    problems = [*wrong, *scorers.problems]
    if written is None:
        return problems
    read = _rows(source, written, around, found.own)
    problems += read.problems
    if not scorers.problems:
        problems += _lacking(scorers, read.rows)
    if problems:
        return problems
    rows = {row_name(written, row): row for row in read.rows}
    labels = read_labels(source, written, around, rows, scorers)
    found.own |= {labels.file} - {""}
    if problems := [*labels.problems, *long_names(rows), *_no_task(source, written, around)]:
        return problems
    agent = task_agent(source, written)
    target = agent.name if agent else str(written.spec.target_agent)
    fixtures = [row_fixture(source, written, target, row, scorers) for row in read.rows]
    found.calibrations += [labels.calibration] if labels.calibration else []
    found.agents += [agent] if agent else []
    found.fixtures += fixtures
    evaluation = experiment_eval(source, written, target, fixtures)
    found.evals.append(evaluation.model_copy(update={"feedback": labels.feedback}))
    return []


def _no_task(
    source: Source, written: ExperimentDocument, around: GatheringContext
) -> list[Problem]:
    """Return what is wrong with the file of the function, if anything."""
    if written.spec.task is None:
        return []
    file = written.spec.task.python.partition(":")[0]
    found = named_file(source, ("spec", "task", "python"), file, around, (".py",))
    return [] if isinstance(found, Named) else [found]


def _rows(
    source: Source, written: ExperimentDocument, around: GatheringContext, own: set[str]
) -> RowsRead:
    data = written.spec.data
    if isinstance(data, str):
        path = ("spec", "data")
        named = named_file(source, path, data, around, (".json", ".jsonl", ".csv", ".yaml", ".yml"))
        if not isinstance(named, Named):
            return RowsRead((), (named,))
        own.add(named.path)
        cases, problems = read_cases(named.path, named.content, empty_is_absent=True)
        shown = named.shown
    else:
        rows = [
            CaseRow(source.document.place(("spec", "data", index)).line or 0, row)
            for index, row in enumerate(data)
        ]
        cases, problems = cases_of(source.document.file, rows)
        shown = source.document.file
    found = golden_rows(shown, cases)
    return RowsRead(found.rows, (*problems, *found.problems))


def _lacking(scorers: Scorers, rows: Iterable[GoldenRow]) -> list[Problem]:
    return [problem for row in rows if (problem := scorers.lacking(row))]


def read(source: Source) -> ReadDocument:
    """Return it as pending: its golden set may be a file."""
    return ReadDocument(Pending(source.path, source.document), ())


EXPERIMENT = ManifestKind("Experiment", ExperimentDocument, read)
