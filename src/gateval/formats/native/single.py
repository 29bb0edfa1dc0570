"""Reads a YAML file that is one value: gate config, scripted model."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel

from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Problem
from gateval.formats.problems.validation import validate
from gateval.formats.yaml.document import Document
from gateval.formats.yaml.reader import read_documents

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
        return validate(model, {}, _empty(path))
    first, *others = documents
    value, problems = validate(model, first.data, first)
    problems += tuple(
        Problem(place=other.place(), message="Only one document may stand in this file.")
        for other in others
    )
    return (None if problems else value), problems


def _empty(path: str) -> Document:
    return Document(file=show_path(path), data={}, marks=None)
