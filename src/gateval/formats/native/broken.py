"""What a manifest that cannot be used still says of itself: its name, Agent and labels."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.manifests.catalogue import Broken, ManifestReference
from gateval.domain.manifests.evaluation import EVAL_KINDS
from gateval.domain.repository.place import Problem
from gateval.formats.yaml.document import Document, DocumentPath, write_path


def broken_manifest(kind: str, document: Document, problems: Sequence[Problem]) -> Broken:
    """Return what such a manifest says of itself; nothing if its YAML is ambiguous."""
    name = document.data_at(("metadata", "name"))
    agent = document.data_at(("spec", "targetAgent"))
    metadata = document.data_at(("metadata",))
    labels = metadata.get("labels", {}) if isinstance(metadata, dict) else None
    if document.problems:
        agent, labels = None, None
    return Broken(
        problem=problems[0],
        kind=kind,
        name=name if isinstance(name, str) else "",
        agent=agent if isinstance(agent, str) else "",
        labels={key: str(value) for key, value in labels.items()}
        if isinstance(labels, dict)
        else None,
        references=_references(document, problems)
        if kind in EVAL_KINDS and not document.problems
        else (),
    )


def _references(document: Document, problems: Sequence[Problem]) -> tuple[ManifestReference, ...]:
    """Return the names in a broken Eval, so that all its problems are told in one go."""
    fixtures = document.data_at(("spec", "fixtures"))
    named: list[tuple[str, DocumentPath]] = [
        ("Agent", ("spec", "targetAgent")),
        ("JudgeCalibration", ("spec", "judge", "calibration")),
    ]
    if isinstance(fixtures, list):
        named += [("EvalFixture", ("spec", "fixtures", index)) for index in range(len(fixtures))]
    told = {problem.place for problem in problems}
    return tuple(
        ManifestReference(kind, name, write_path(path), document.key_place(path))
        for kind, path in named
        if isinstance(name := document.data_at(path), str) and document.place(path) not in told
    )
