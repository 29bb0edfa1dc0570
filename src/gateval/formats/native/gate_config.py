"""Reads files that are one value: the gate config, and scripted models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel

from gateval.domain.base import digest
from gateval.domain.manifests.evaluation import ScriptedModel, ScriptedSpec
from gateval.domain.manifests.gate_config import GateConfig
from gateval.domain.paths import show_path
from gateval.domain.problems import Problem, SourceLocation
from gateval.formats.native.written import canonical
from gateval.formats.problems import validate
from gateval.formats.yaml_document import Document
from gateval.formats.yaml_reader import read_documents

Model = TypeVar("Model", bound=BaseModel)


def read_single(
    path: str, data: bytes, model: type[Model]
) -> tuple[Model | None, tuple[Problem, ...]]:
    """Return the file's one document as `model`, or None and everything that is wrong.

    An empty file is an empty mapping.
    """
    documents, problems = read_documents(path, data)
    if problems:
        return None, problems
    if not documents:
        return validate(model, {}, Document(file=show_path(path), data={}, marks=None))
    first, *others = documents
    value, problems = validate(model, first.data, first)
    problems += tuple(
        Problem(place=other.place(), message="Only one document may stand in this file.")
        for other in others
    )
    return (None if problems else value), problems


def read_gate_config(path: str, data: bytes) -> tuple[GateConfig | None, tuple[Problem, ...]]:
    """Return the gate config, or None and everything that is wrong. Empty means the defaults."""
    return read_single(path, data, GateConfig)


def gate_config_places(path: str, data: bytes) -> Mapping[str, SourceLocation]:
    """Return where the keys of a gate config stand, by written path: `policy.bypass.roles`."""
    documents, _ = read_documents(path, data)
    places = documents[0].key_places((), depth=3) if documents else {}
    return {where.removeprefix("."): place for where, place in places.items()}


def read_scripted(path: str, data: bytes) -> tuple[ScriptedModel | None, tuple[Problem, ...]]:
    """Return the scripted model, named after the file, or None and everything that is wrong."""
    spec, problems = read_single(path, data, ScriptedSpec)
    if spec is None:
        return None, problems
    name = path.rpartition("/")[2].rpartition(".")[0]
    return ScriptedModel(name=name, spec=spec, path=path, digest=digest(canonical(spec))), ()
