"""What `promote` does: recorded runs become fixtures, in new files beside those that are there."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from gateval.adapters.folders import write_new
from gateval.adapters.git.repository import GitRepository, open_repository
from gateval.adapters.machine import SystemClock
from gateval.app.guard import LINE_LIMIT
from gateval.app.readers import registries
from gateval.app.run.views import RESULTS_FILE, RUN_IS
from gateval.app.stored import find_run
from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import MODEL_RUNTIME, Agent
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.paths import nearest
from gateval.domain.planning.change import inventory
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.problems import InvalidManifests
from gateval.domain.promotion import (
    NoRun,
    Promoter,
    PromotionTarget,
    Recorded,
    is_unfinished,
    propose,
)
from gateval.errors import EXIT_FAILED, EXIT_PASS, UsageError
from gateval.formats.native.manifests import read_manifests
from gateval.formats.native.writing import manifest_text
from gateval.formats.traces import LIMIT, read_runs
from gateval.pipeline.read import find_head, survey
from gateval.render.report.wording import count
from gateval.safe.sanitize import plain_line
from gateval.settings import read_settings

_GATES_TOOLS = b"GATEVAL_MCP"
"""Stands in the files of a program that takes its tools from the gate."""

_FILE_LIMIT = 256 * 1024
"""Bytes of a file that is looked through for it."""


def sibling_folder(catalogue: Catalogue, agent: Agent) -> str:
    """Return the folder where most fixtures of an Agent are, or else its own."""
    selected = {
        fixture.folder
        for fixture in catalogue.fixtures
        if fixture.target_agent == agent.name or fixture.labels.get("agent") == agent.name
    }
    counts = Counter(f.folder for f in catalogue.fixtures if f.folder in selected)
    return counts.most_common(1)[0][0] if counts else agent.folder


def chosen_agent(catalogue: Catalogue, named: str | None) -> Agent:
    """Return the Agent of this name, or the only one. Raises `UsageError` without it."""
    known = [one.name for one in catalogue.agents]
    if named is None and len(known) == 1:
        return catalogue.agents[0]
    found = catalogue.agent(named) if named else None
    if found is None:
        what = (
            f'There is no Agent "{named}" here.{nearest(named, known)}'
            if named
            else ("There are several Agents here." if known else "There is no Agent here.")
        )
        hint = f"Name one with --agent: {', '.join(sorted(known)[:20])}." if known else ""
        raise UsageError(what, hint=hint)
    return found


def target_of(repository: GitRepository, snapshot: Snapshot, agent: Agent) -> PromotionTarget:
    """The Agent with its tools; a program's are replayed only if it takes them from the gate."""
    offered = tuple(tool.tool_name for tool in agent.spec.tools if tool.enabled)
    if agent.runtime_type == MODEL_RUNTIME:
        if agent.spec.runtime is not None and agent.spec.runtime.servers:
            # what these offer, they say when asked
            return PromotionTarget(agent=agent.name, replayed=None)
        return PromotionTarget(agent=agent.name, offered=offered, replayed=offered)
    runtime = agent.spec.runtime
    takes = runtime is not None and "{mcp." in runtime.model_dump_json()
    if offered and not takes:
        oids = [one.oid for one in inventory(agent, snapshot).files if one.kind == "file"]
        contents = repository.blobs(oids, limit=_FILE_LIMIT).values()
        takes = any(_GATES_TOOLS in data for data in contents if data)
    return PromotionTarget(agent=agent.name, replayed=offered if takes else ())


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
    repository = open_repository()
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
    lines = [*refused, *more]
    for line in lines[:_SHOWN]:
        print(plain_line(f"Not promoted: {line}", LINE_LIMIT), file=sys.stderr)
    if len(lines) > _SHOWN:
        print(f"Not promoted: {len(lines) - _SHOWN:,} more", file=sys.stderr)
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
    from gateval.safe.redaction import PersonalRedactor

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
