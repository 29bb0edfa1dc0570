"""From an Experiment and its golden set to what the engine runs: an Eval, and a fixture a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.calibration import Calibration
from gateval.domain.manifests.catalogue import Broken
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.repository.place import Problem
from gateval.formats.gathering import Gathered, GatheringContext, Pending
from gateval.formats.native.broken import broken_manifest
from gateval.formats.native.cases.case import Row, cases_of
from gateval.formats.native.cases.reading import read_cases
from gateval.formats.native.experiments.files import Named, named_file
from gateval.formats.native.experiments.labels import read_labels
from gateval.formats.native.experiments.made import (
    experiment_eval,
    long_names,
    row_fixture,
    row_name,
)
from gateval.formats.native.experiments.rows import GoldenRow, RowsRead, golden_rows
from gateval.formats.native.experiments.scorers import Scorers, read_scorers
from gateval.formats.native.experiments.task import task_agent
from gateval.formats.native.experiments.written import ExperimentDocument
from gateval.formats.native.written import Source
from gateval.formats.problems.validation import PROBLEM_LIMIT, validate


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
            Row(source.document.place(("spec", "data", index)).line or 0, row)
            for index, row in enumerate(data)
        ]
        cases, problems = cases_of(source.document.file, rows)
        shown = source.document.file
    found = golden_rows(shown, cases)
    return RowsRead(found.rows, (*problems, *found.problems))


def _lacking(scorers: Scorers, rows: Iterable[GoldenRow]) -> list[Problem]:
    return [problem for row in rows if (problem := scorers.lacking(row))]
