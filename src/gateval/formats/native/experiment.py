"""From an Experiment and its golden set to what the engine runs: an Eval, and a fixture a row."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.base import JsonObject
from gateval.domain.manifests.evaluation import Eval, ScoringModel, ScoringSpec
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
from gateval.formats.native.written import (
    ManifestKind,
    ReadDocument,
    canonical,
    envelope,
    meaning,
)
from gateval.formats.problems import PROBLEM_LIMIT, validate

NAME_LIMIT = 253
"""Characters of a name."""


def row_fixture(
    source: Source,
    written: ExperimentDocument,
    target: str,
    name: str,
    row: GoldenRow,
    scorers: Scorers,
) -> Fixture:
    """Return a row as the fixture of this name."""
    asked = input_of(row.input)
    means: JsonObject = {
        "input": canonical(asked),
        "reference": canonical(row.reference),
        "scorers": [one.meaning for one in scorers.specs],
    }
    return Fixture(
        name=name,
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
    spec = written.spec
    apart = {key: one for key, one in canonical(spec).items() if key not in {"data", "feedback"}}
    return Eval(
        **envelope(source, written),
        kind=written.kind,
        target_agent=target,
        fixtures=tuple(one.name for one in fixtures),
        judge=spec.judge,
        scoring=ScoringSpec(
            model=ScoringModel.EXPERIMENT, pass_score=0.0, pass_threshold=spec.pass_threshold
        ),
        execution=spec.execution,
        schedule=spec.schedule,
        time_zone=spec.time_zone,
        places=dict(source.document.key_places(("spec",), depth=2)),
        digest=meaning(written.kind, written.metadata, apart),
    )


def gather(source: Source, around: GatheringContext) -> Gathered:
    """Return what an Experiment and the files that it names say; nothing of one with a problem."""
    own = {source.path}
    found = _experiment(source, around, own)
    if isinstance(found, Gathered):
        return found._replace(own=frozenset(own))
    problems = tuple(found[:PROBLEM_LIMIT])
    told = (*source.document.problems, *problems)
    broken = (broken_manifest("Experiment", source.document, told),)
    return Gathered(problems=problems, broken=broken, own=frozenset(own))


def _experiment(
    source: Source, around: GatheringContext, own: set[str]
) -> Gathered | list[Problem]:
    """Read one, or return its problems; `own` takes the files that it names."""
    written, wrong = validate(ExperimentDocument, source.body, source.document)
    scorers = read_scorers(source)
    problems = [*wrong, *scorers.problems]
    if written is None:
        return problems
    read = _rows(source, written, around, own)
    problems += read.problems
    if not scorers.problems:
        problems += [found for row in read.rows if (found := scorers.lacking(row))]
    if problems:
        return problems
    rows = {f"{written.metadata.name}.{row.word}": row for row in read.rows}
    labels = read_labels(source, written, around, rows, scorers)
    own |= {labels.file} - {""}
    problems += labels.problems
    for name, row in rows.items():
        if len(name) > NAME_LIMIT:
            said = f"The name {quote(name)} would be too long for a fixture. Shorten the `id`."
            problems.append(Problem(place=row.place, message=said))
    if written.spec.task is not None:
        file = written.spec.task.python.partition(":")[0]
        task = named_file(source, ("spec", "task", "python"), file, around, (".py",))
        problems += [task] if isinstance(task, Problem) else []
    if problems:
        return problems
    agent = task_agent(source, written)
    target = agent.name if agent else str(written.spec.target_agent)
    fixtures = tuple(
        row_fixture(source, written, target, name, row, scorers) for name, row in rows.items()
    )
    evaluation = experiment_eval(source, written, target, fixtures)
    return Gathered(
        agents=(agent,) if agent else (),
        evals=(evaluation.model_copy(update={"feedback": labels.feedback}),),
        fixtures=fixtures,
        calibrations=(labels.calibration,) if labels.calibration else (),
    )


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


def read(source: Source) -> ReadDocument:
    """Return it as pending: its golden set may be a file."""
    return ReadDocument(Pending(source.path, source.document), ())


EXPERIMENT = ManifestKind("Experiment", ExperimentDocument, read)
