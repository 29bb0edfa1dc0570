"""What `import`, `lock` and `schema` do."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gateval.adapters.folders import write_new, write_over
from gateval.adapters.git.repository import open_repository
from gateval.app.readers import MEND, git_sources, registries, valid_snapshot
from gateval.domain.audit import AuditEntry
from gateval.domain.base import JsonObject, Value
from gateval.domain.decision.decision import Decision
from gateval.domain.forge.trigger import Trigger
from gateval.domain.history.run_record import RunRecord
from gateval.domain.history.verdicts import HistoryRecord
from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.paths import nearest, show_path
from gateval.domain.plan.plan import Plan
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.results.results import Results, ResultsPart
from gateval.domain.results.self_check import CalibrationReport
from gateval.domain.tree import LOCK_PATH, SourcesLock
from gateval.errors import EXIT_PASS, UsageError
from gateval.formats.agentv.assembly import carried, lost
from gateval.formats.agentv.references import without_ending
from gateval.formats.agentv.suite_evals import lines_beside
from gateval.formats.registry import AGENTV, formats_of, read_file
from gateval.formats.schemas import KINDS, manifest_schema
from gateval.pipeline.manifests import Pinning
from gateval.render.report.kinds import count
from gateval.safe.sanitize import plain_line

_LINE = 400


@dataclass(frozen=True)
class _Found:
    """What a suite became. `agents` are those that nothing else targets."""

    agents: tuple[Agent, ...]
    evals: tuple[Eval, ...]
    fixtures: tuple[Fixture, ...]


def import_agentv(file: Path) -> int:
    """Write `NAME.gateval.yaml` beside a suite of AgentV, and print what does not carry over.

    Raises `InvalidManifests` where something is wrong, and `UsageError` for a file that is no
    suite, or where the new file is there already.
    """
    repository = open_repository(Path.cwd())
    snapshot = valid_snapshot(repository, repository.worktree(), hint=MEND)
    path = _inside(repository.root, file)
    found = _found(path, snapshot, (repository.root / path).read_bytes())
    if not found.evals:
        raise UsageError(
            f"{show_path(path)} is no suite of AgentV.",
            hint="Name a file with `evalcases` or `tests`, or a JSONL file with its companion.",
        )
    target = f"{without_ending(path)}.gateval.yaml"
    text = carried(found.agents, found.evals, snapshot.catalogue, snapshot.tree)
    if not write_new(repository.root, target, text):
        raise UsageError(
            f"{show_path(target)} is there already.", hint="Move it away, and import again."
        )
    agents, evals = count(len(found.agents), "Agent"), count(len(found.evals), "Eval")
    print(f"wrote {show_path(target)}: {agents}, {evals}, {count(len(found.fixtures), 'fixture')}.")
    for line in (*_lost(found, snapshot), *_next(path, found)):
        print(plain_line(line, _LINE))
    return EXIT_PASS


def _inside(root: Path, file: Path) -> str:
    absolute = (Path.cwd() / file).resolve()
    if not absolute.is_file():
        raise UsageError(f"There is no file {file}.")
    if not absolute.is_relative_to(root):
        raise UsageError(f"{file} is outside the repository {root}.")
    return absolute.relative_to(root).as_posix()


def _found(path: str, snapshot: Snapshot, data: bytes) -> _Found:
    """Return what a suite became; nothing for a file of native manifests. Of a companion, what the
    lines beside it did.
    """
    catalogue: Catalogue = snapshot.catalogue
    read = read_file(path, data, registries(), formats_of(path, data))
    ours = path.endswith(".jsonl") or (
        read is not None and any(one.format == AGENTV.name for one in read.pending)
    )
    files = {path, *lines_beside(path)} if ours else set()
    evals = [one for one in catalogue.evals if one.path in files]
    others = {one.target_agent for one in catalogue.evals if one.path not in files}
    targets = {one.target_agent for one in evals} - others
    fixtures = {one.name: one for each in evals for one in select_fixtures(each, catalogue)}
    agents = tuple(one for one in catalogue.agents if one.name in targets)
    return _Found(agents, tuple(evals), tuple(fixtures.values()))


def _lost(found: _Found, snapshot: Snapshot) -> Iterator[str]:
    said = [*lost(found.fixtures, snapshot.tree)]
    if said:
        yield "Not as it was:"
        yield from (f"  {one}" for one in said)


def _lines(path: str, found: _Found) -> set[str]:
    """Return the other files of JSON lines that hold the cases of a suite."""
    files = {one.place.file for one in found.fixtures}
    return {one for one in files if one.endswith(".jsonl") and one != show_path(path)}


def _next(path: str, found: _Found) -> Iterator[str]:
    lines = sorted(_lines(path, found))
    yield f"Next: git rm {show_path(path)} — its Evals and fixtures stand in both files now."
    if lines:
        files = ", ".join(lines)
        yield f"Remove {files} with it: by itself, cases in JSON lines go on being read as a suite."
    kept = {one.target_agent for one in found.evals} - {one.name for one in found.agents}
    if kept:
        names = ", ".join(sorted(kept))
        yield f"Other suites target {names} too, which stays in its targets file."
    elif found.agents:
        files = ", ".join(sorted({show_path(one.path) for one in found.agents}))
        yield f"No other suite asks these targets: remove them from {files} when you like."


def lock_sources() -> int:
    """Pin every file of another repository that manifests here name, as it is now.

    Raises `InvalidManifests` with all that keeps one from being read.
    """
    repository = open_repository(Path.cwd())
    pinning = Pinning(git_sources(os.environ))
    known = replace(registries(), foreign=pinning)
    valid_snapshot(repository, repository.worktree(), known=known, hint=MEND)
    lock = SourcesLock(files=dict(sorted(pinning.files.items())))
    if not lock.files:
        print("No manifest here names a file of another repository; nothing was written.")
        return EXIT_PASS
    write_over(
        repository.root, LOCK_PATH, json.dumps(lock.model_dump(mode="json"), indent=2) + "\n"
    )
    print(f"wrote {LOCK_PATH}: {count(len(lock.files), 'file')} of other repositories. Commit it.")
    return EXIT_PASS


STAGES: Mapping[str, type[Value]] = {
    "trigger.v1": Trigger,
    "plan.v1": Plan,
    "results.v1": Results,
    "part.v1": ResultsPart,
    "decision.v1": Decision,
    "audit.v1": AuditEntry,
    "history.v2": HistoryRecord,
    "calibrations.v1": CalibrationReport,
    "run.v1": RunRecord,
}
ALL_KINDS = (*KINDS, *STAGES)


def show_schema(kind: str | None) -> int:
    """Print one schema, or the list of kinds."""
    print("\n".join(ALL_KINDS) if kind is None else schema_text(kind), end="\n" if not kind else "")
    return EXIT_PASS


def show_all() -> int:
    """Print one schema for files that hold manifests of several kinds."""
    print(json.dumps(manifests_schema(), indent=2, ensure_ascii=False))
    return EXIT_PASS


def manifests_schema() -> dict[str, Any]:
    """Return one JSON Schema for all manifests: each document is checked by that of its `kind`."""
    schemas = {kind: manifest_schema(kind, registries()) for kind in KINDS}
    schemas = {kind: one for kind, one in schemas.items() if "kind" in str(one.get("required"))}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Manifests of Gateval",
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"enum": list(schemas)}},
        "allOf": [
            {"if": {"properties": {"kind": {"const": kind}}}, "then": {"$ref": f"#/$defs/{kind}"}}
            for kind in schemas
        ],
        "$defs": {kind: _below(one, f"#/$defs/{kind}/") for kind, one in schemas.items()},
    }


def _below(schema: Any, root: str) -> Any:
    """Return a schema whose references lead to its own parts where it stands at `root`."""
    if isinstance(schema, dict):
        return {
            key: root + value[2:]
            if key == "$ref" and isinstance(value, str)
            else _below(value, root)
            for key, value in schema.items()
            if key != "$schema"
        }
    return [_below(one, root) for one in schema] if isinstance(schema, list) else schema


def schema_text(kind: str) -> str:
    """Return the JSON Schema of a kind, indented, with a newline at its end.

    Raises `UsageError` for a kind that is none.
    """
    return json.dumps(schema_of(kind), indent=2, ensure_ascii=False) + "\n"


def schema_of(kind: str) -> JsonObject:
    """Return the JSON Schema of a manifest kind or a stage file."""
    if kind in STAGES:
        schema: JsonObject = STAGES[kind].model_json_schema(by_alias=False)
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    if kind not in KINDS:
        raise UsageError(
            f'There is no kind "{kind}".{nearest(kind, ALL_KINDS)}',
            hint=f"Known: {', '.join(ALL_KINDS)}.",
        )
    return manifest_schema(kind, registries())
