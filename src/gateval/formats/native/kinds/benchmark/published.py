"""A benchmark that another repository publishes, run on an Agent of this one.

Its tasks are what the file at a URL holds, as `gateval lock` pinned it: the same for everybody who
runs them. Nothing but the Agent is said here, so that scores can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.base import digest
from gateval.domain.manifests.catalogue import Broken
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.manifests.own_checks import own_checks
from gateval.domain.manifests.sealed import is_sealed
from gateval.domain.repository.place import Place, Problem
from gateval.domain.text.quoting import quote
from gateval.formats.gathering import Gathered, GatheringContext, Pending
from gateval.formats.native.broken import broken_manifest
from gateval.formats.native.kinds.benchmark.reading import BENCHMARK
from gateval.formats.native.kinds.benchmark.written import BenchmarkBody, BenchmarkDocument
from gateval.formats.native.written import Read, Source
from gateval.formats.problems.validation import problem_at, validate
from gateval.formats.yaml.document import Document
from gateval.formats.yaml.reader import read_documents

_FROM = ("spec", "from")


class _NotUsable(ValueError):
    """The published file cannot be used; the message is a sentence."""


def gather(pending: Sequence[Pending], around: GatheringContext) -> Gathered:
    """Return the benchmarks of these manifests, each with the tasks of the file that it names.

    Raises `RepositoryError` where a file may not be fetched in this run, or was not.
    """
    found = Gathered()
    for one in pending:
        if one.document is not None:
            found = found.beside(_benchmark(one.path, one.document, around))
    return found


def _benchmark(path: str, document: Document, around: GatheringContext) -> Gathered:
    own = frozenset({path})
    body = Source(path, document, around.registries).body
    written, _ = validate(BenchmarkDocument, body, document)
    if written is None or written.spec.source is None:
        return Gathered(own=own)
    try:
        evaluation, tasks = _published(written.spec.source, around)
    except ValueError as error:
        problem = problem_at(document, _FROM, str(error))
        broken: Broken = broken_manifest("Benchmark", document, [problem])
        return Gathered(problems=(problem,), broken=(broken,), own=own)
    place = document.place(("metadata", "name"))
    name, agent = written.metadata.name, written.spec.target_agent
    ours = tuple(_task(one, evaluation.name, name, agent, path, place) for one in tasks)
    found = _eval(evaluation, written, ours, path, place)
    return Gathered(evals=(found,), fixtures=ours, own=own)


def _published(url: str, around: GatheringContext) -> tuple[Eval, tuple[Fixture, ...]]:
    """Return the benchmark at a URL as its own repository has it. Raises `ValueError`."""
    if is_sealed(url):
        raise _NotUsable(
            "This benchmark is sealed, and its owners hold the key. Open a pull request to their "
            "repository: a run of theirs measures it."
        )
    documents, problems = read_documents(url, around.foreign(url))
    if problems:
        raise _NotUsable(_wrong(url, problems[0]))
    ours = [one for one in documents if _is_benchmark(one)]
    if len(ours) != 1:
        raise _NotUsable(f"{quote(url)} holds {len(ours) or 'no'} benchmarks; it must be one.")
    read: Read = BENCHMARK.read(Source(url, ours[0], around.registries))
    if read.problems:
        raise _NotUsable(_wrong(url, read.problems[0]))
    if not isinstance(read.manifest, Eval):
        raise _NotUsable(f"{quote(url)} takes its own tasks from elsewhere. Name that file.")
    for task in read.fixtures:
        if any(True for _ in task.attached()) or task.playground or any(own_checks(task)):
            raise _NotUsable(
                f"The task {quote(task.name)} names files of its repository, which are not "
                "fetched. Copy the benchmark with its files into this repository."
            )
    return read.manifest, read.fixtures


def _is_benchmark(document: Document) -> bool:
    return isinstance(document.data, dict) and document.data.get("kind") == "Benchmark"


def _wrong(url: str, problem: Problem) -> str:
    place = f"{problem.place.line}:{problem.place.column}"
    return f"{quote(url)} is no benchmark that this version reads: at {place}, {problem.message}"


def _eval(
    theirs: Eval, written: BenchmarkDocument, tasks: Sequence[Fixture], path: str, place: Place
) -> Eval:
    spec: BenchmarkBody = written.spec
    runs = {"reps_per_fixture": spec.runs_per_task, "deterministic": spec.deterministic}
    return theirs.model_copy(
        update={
            "name": written.metadata.name,
            "labels": written.metadata.labels,
            "target_agent": spec.target_agent,
            "fixtures": tuple(one.name for one in tasks),
            "execution": theirs.execution.model_copy(update=runs),
            "schedule": spec.schedule,
            "time_zone": spec.time_zone,
            "place": place,
            "places": {},
            "path": path,
            "digest": digest([theirs.digest, spec.model_dump(mode="json")]),
        }
    )


def _task(theirs: Fixture, before: str, name: str, agent: str, path: str, place: Place) -> Fixture:
    return theirs.model_copy(
        update={
            "name": f"{name}{theirs.name.removeprefix(before)}",
            "target_agent": agent,
            "assertions": tuple(_placed(one, place) for one in theirs.assertions),
            "place": place,
            "places": {},
            "path": path,
        }
    )


def _placed(spec: AssertionSpec, place: Place) -> AssertionSpec:
    parts = tuple(_placed(one, place) for one in spec.parts)
    return spec.model_copy(update={"place": place, "parts": parts})
