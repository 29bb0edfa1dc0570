"""What `lock` and `schema` do."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gateval.adapters.folders import write_over
from gateval.adapters.git.repository import open_repository
from gateval.app.readers import MEND, git_sources, registries, valid_snapshot
from gateval.domain.audit import AuditEntry
from gateval.domain.base import JsonObject, Value
from gateval.domain.decision.decision import Decision
from gateval.domain.forge.trigger import Trigger
from gateval.domain.history.notification import Notification
from gateval.domain.history.run_record import RunRecord
from gateval.domain.history.verdicts import HistoryRecord
from gateval.domain.injection import AttackReport
from gateval.domain.paths import nearest
from gateval.domain.plan.plan import Plan
from gateval.domain.results.judge_choice import ComparisonReport
from gateval.domain.results.results import Results, ResultsPart
from gateval.domain.results.self_check import CalibrationReport
from gateval.domain.tree import LOCK_PATH, SourcesLock
from gateval.errors import EXIT_PASS, UsageError
from gateval.formats.schemas import KINDS, manifest_schema
from gateval.pipeline.manifests import Pinning
from gateval.render.report.wording import count


def lock_sources() -> int:
    """Pin every file of another repository that manifests here name, as it is now.

    Raises `InvalidManifests` with all that keeps one from being read.
    """
    repository = open_repository()
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
    "attacks.v1": AttackReport,
    "judge-comparison.v1": ComparisonReport,
    "run.v1": RunRecord,
    "notification.v1": Notification,
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
