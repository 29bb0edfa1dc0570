"""Checks a part of a document against a model and says what is wrong, with its place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import to_json

from gateval.domain.repository.place import Place, Problem
from gateval.formats.problems.findings import SchemaFinding, Spot, findings
from gateval.formats.yaml.document import Document, DocumentPath, write_path

Model = TypeVar("Model", bound=BaseModel)

PROBLEM_LIMIT = 100
"""Problems told of one file. Nobody reads more, and each costs a search for the nearest word."""


def validate(
    model: type[Model],
    value: JsonValue,
    document: Document,
    path: DocumentPath = (),
    *,
    also_known: Iterable[str] = (),
) -> tuple[Model | None, tuple[Problem, ...]]:
    """Return `value` as `model`, or None and the reasons why it is not, all up to the limit.

    `value` is what stands at `path` in the document, or that mapping without the keys that someone
    else checks (`also_known`). It is checked as strict JSON, so that text is never taken for a
    number, and by camelCase keys only.
    """
    try:
        return (
            model.model_validate_json(to_json(value), strict=True, by_alias=True, by_name=False),
            (),
        )
    except ValidationError as error:
        errors = error.errors(include_url=False)[: PROBLEM_LIMIT + 1]
        found = findings(model, value, errors, also_known)
        return None, tuple(_problem(document, path, each) for each in found)


def problem_at(document: Document, path: DocumentPath, message: str) -> Problem:
    """Return a problem with the value at `path`."""
    return Problem(place=_value_place(document, path), path=write_path(path), message=message)


def _problem(document: Document, path: DocumentPath, finding: SchemaFinding) -> Problem:
    where = (*path, *finding.path)
    if finding.spot is Spot.KEY:
        place = document.key_place(where)
    elif finding.spot is Spot.PARENT:
        place = document.key_place(where[:-1])
    else:
        place = _value_place(document, where)
    return Problem(place=place, path=write_path(where), message=finding.message)


def _value_place(document: Document, path: DocumentPath) -> Place:
    """Where the value stands; for one that is not written (`spec:`), its key."""
    if document.data_at(path) is None:
        return document.key_place(path)
    return document.place(path)
