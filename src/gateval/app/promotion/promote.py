"""What `promote` does: recorded runs become fixtures, in new files beside those that are there."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from gateval.adapters.clock import SystemClock
from gateval.adapters.git import GitRepository, open_repository
from gateval.adapters.new_files import write_new
from gateval.app.guard import LINE_LIMIT
from gateval.app.names import RESULTS_FILE, RUN_IS
from gateval.app.promotion.target import chosen_agent, sibling_folder, target_of
from gateval.app.registries import registries
from gateval.app.stored import find_run
from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.promotion.proposal import Promoter, PromotionTarget, is_unfinished, propose
from gateval.domain.promotion.recorded import NoRun, Recorded
from gateval.errors import EXIT_FAILED, EXIT_PASS, InvalidManifests, UsageError
from gateval.formats.native.manifests import read_manifests
from gateval.formats.native.writing import manifest_text
from gateval.formats.traces.reading import LIMIT, read_runs
from gateval.pipeline.read import survey
from gateval.pipeline.revisions import find_head
from gateval.render.report.words.counts import count
from gateval.safe.sanitize import plain_line
from gateval.settings import read_settings

_NO_FIXTURE_YET = "spec.fixtureSelector"
"""The path of the one problem that promoting may solve: a selector that selects nothing yet."""

_SHOWN = 20

_STAND_IN: JsonValue = {"type": "contains", "value": "."}
"""Where a person writes assertions, so that all else can be read."""

_ALLOW = "its calls are no example to follow (--allow-failed writes it with assertions to fill in)."


def promote_traces(
    environ: dict[str, str],
    trace: str,
    *,
    agent: str | None,
    fixture: str | None,
    allow_failed: bool,
    redact: bool,
    dry_run: bool,
) -> int:
    """Write a fixture for each run in `trace`: a file, `-`, or a run that is stored here.

    With `allow_failed`, also for those that did not pass, whose assertions a person has to write.
    Returns 1 if a record could not be promoted. Raises `UsageError` if none could.
    """
    repository = open_repository(Path.cwd())
    snapshot = survey(repository, registries(), find_head(repository, None))
    if problems := tuple(one for one in snapshot.problems if one.path != _NO_FIXTURE_YET):
        raise InvalidManifests(problems)
    chosen = chosen_agent(snapshot.catalogue, agent)
    found = [*read_runs(*_data(repository, trace))]
    refused = [f"{where}: {why}." for where, why in found if isinstance(why, NoRun)]
    runs = [(where, run) for where, run in found if isinstance(run, Recorded)]
    if fixture is not None:
        runs = [one for one in runs if f"/{fixture}#" in f"/{one[1].trace_id}"]
    if not allow_failed:
        refused += [
            f"{where}: {one.trace_id} {one.failed}; {_ALLOW}" for where, one in runs if one.failed
        ]
        runs = [one for one in runs if not one[1].failed]
    if redact:
        runs = _redacted(runs, read_settings(environ).secrets)
    origin = Promoter(by=repository.who(), at=SystemClock().utc_now())
    taken = {one.name for one in snapshot.catalogue.fixtures}
    target = target_of(repository, snapshot, chosen)
    documents, more = _documents(runs, target, taken, origin)
    unfinished = sum(is_unfinished(document) for document in documents)
    _tell_refused([*refused, *more])
    if not documents:
        raise UsageError("Nothing was promoted.")
    if dry_run:
        sys.stdout.write(manifest_text(documents))
    else:
        folder = sibling_folder(snapshot.catalogue, chosen)
        path = _write(repository.root, folder, documents)
        _tell(path, documents, snapshot.catalogue, chosen)
        if unfinished:
            print(
                f"{count(unfinished, 'fixture')} without assertions: write what the agent should "
                "have done. Until then `gateval validate` is red."
            )
    return EXIT_FAILED if refused or more else EXIT_PASS


def _tell_refused(lines: Sequence[str]) -> None:
    for line in lines[:_SHOWN]:
        print(plain_line(f"Not promoted: {line}", LINE_LIMIT), file=sys.stderr)
    if len(lines) > _SHOWN:
        print(f"Not promoted: {len(lines) - _SHOWN:,} more", file=sys.stderr)


def _tell(path: str, documents: Sequence[JsonObject], catalogue: Catalogue, agent: Agent) -> None:
    """Say what was written, which Evals take it in, and what a person has to look at."""
    print(plain_line(f"{path}: {count(len(documents), 'fixture')}", LINE_LIMIT))
    for document in documents[:_SHOWN]:
        print(plain_line(f"  {name_of(document)}", LINE_LIMIT))
    if len(documents) > _SHOWN:
        print(f"  and {len(documents) - _SHOWN:,} more")
    labels = {"agent": agent.name}
    taking = [
        one.name
        for one in catalogue.evals
        if one.fixture_selector and one.fixture_selector.match_labels.items() <= labels.items()
    ]
    if taking:
        print(f"Runs in {', '.join(taking)}. Look at the fixture, then commit it.")
        return
    print(
        f"No Eval selects it: its label is agent={agent.name}. Give an Eval\n"
        f"  fixtureSelector: {{matchLabels: {{agent: {agent.name}}}}}"
    )


def _data(repository: GitRepository, trace: str) -> tuple[bytes, str]:
    """The content of a file, of standard input, or of the results of a run."""
    if trace == "-":
        return sys.stdin.buffer.read(LIMIT + 1), "standard input"
    path = find_run(repository.root, trace) or Path(trace)
    path = path / RESULTS_FILE if path.is_dir() else path
    try:
        with path.open("rb") as file:
            return file.read(LIMIT + 1), plain_line(str(path), 200)
    except OSError as error:
        raise UsageError(
            f"{plain_line(str(path), 200)} could not be read: {error.strerror}.",
            hint=f"Name a file of traces, `-` or a run. {RUN_IS}",
        ) from error


def _redacted(
    runs: Sequence[tuple[str, Recorded]], secrets: Iterable[str]
) -> list[tuple[str, Recorded]]:
    """The runs without secrets and personal data; says how much of what was taken out."""
    from gateval.safe.personal import PersonalRedactor

    redactor = PersonalRedactor(secrets)
    cleaned = [(where, redactor.value(run)) for where, run in runs]
    found = [f"{number} of the kind {kind}" for kind, number in sorted(redactor.found.items())]
    print(f"Taken out: {', '.join(found) or 'nothing'}. Look for what was missed.", file=sys.stderr)
    return cleaned


def _documents(
    runs: Iterable[tuple[str, Recorded]], target: PromotionTarget, taken: set[str], origin: Promoter
) -> tuple[list[JsonObject], list[str]]:
    """The fixtures that are proposed, and why others are not."""
    documents, refused = [], []
    for where, run in runs:
        try:
            document = propose(run, target, origin, taken)
            _refuse_unreadable(document)
        except NoRun as error:
            refused.append(f"{where}: {error}.")
            continue
        documents.append(document)
        taken.add(name_of(document))
    return documents, refused


def _refuse_unreadable(document: JsonObject) -> None:
    """Raise `NoRun` for what would not be read back as the fixture that it is."""
    if is_unfinished(document):
        spec: JsonObject = {**cast("JsonObject", document["spec"]), "assertions": [_STAND_IN]}
        document = {**document, "spec": spec}
    parsed = read_manifests("promoted.yaml", manifest_text([document]).encode(), registries())
    if parsed.templates:
        raise NoRun("it holds `{{`, which a fixture would fill in")
    if parsed.problems or not parsed.manifests:
        why = parsed.problems[0].message if parsed.problems else "nothing would be read"
        raise NoRun(f"it would be no valid fixture: {why.rstrip('.')}")


def _write(root: Path, folder: str, documents: Sequence[JsonObject]) -> str:
    """Write the fixtures into one new file; return its path from the root."""
    first = name_of(documents[0])
    base = f"{folder}/{first}" if folder else first
    number, path = 1, f"{base}.yaml"
    while not write_new(root, path, manifest_text(documents)):
        number += 1
        path = f"{base}-{number}.yaml"
    return path


def name_of(document: JsonObject) -> str:
    """Return the name of a manifest as it is written."""
    metadata = document["metadata"]
    return str(metadata["name"]) if isinstance(metadata, dict) else ""
