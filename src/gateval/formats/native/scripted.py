"""Reads a scripted model."""

from __future__ import annotations

from gateval.domain.base import digest
from gateval.domain.manifests.scripted import ScriptedModel, ScriptedSpec
from gateval.domain.repository.place import Problem
from gateval.formats.native.single import read_single
from gateval.formats.native.written import canonical


def read_scripted(path: str, data: bytes) -> tuple[ScriptedModel | None, tuple[Problem, ...]]:
    """Return the scripted model, named after the file, or None and everything that is wrong."""
    spec, problems = read_single(path, data, ScriptedSpec)
    if spec is None:
        return None, problems
    name = path.rpartition("/")[2].rpartition(".")[0]
    return ScriptedModel(name=name, spec=spec, path=path, digest=digest(canonical(spec))), ()
