"""From pydantic's errors to findings: which value in the document, and what is wrong with it.

A union answers with the errors of all its branches. A person meant one of them: the branch that
fits best speaks, and if none fits at all, one sentence names what would.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple, get_args

from pydantic import BaseModel, JsonValue
from pydantic_core import ErrorDetails

from gateval.formats.problems.sentences import (
    EXPECTED,
    expected_sentence,
    missing_key,
    sentence,
    unknown_key,
)
from gateval.formats.yaml.document import DocumentPath, look_up


class Spot(Enum):
    """Which place of a path a finding is about."""

    VALUE = "value"
    KEY = "key"
    PARENT = "parent"
    """The key is missing, so the mapping that lacks it."""


class SchemaFinding(NamedTuple):
    """One thing that is wrong at `path`, seen from the validated value."""

    path: DocumentPath
    spot: Spot
    message: str


class _Located(NamedTuple):
    error: ErrorDetails
    path: DocumentPath
    value: JsonValue
    spot: Spot
    union: DocumentPath | None
    branch: str

    @property
    def wrong_sort(self) -> bool:
        return self.error["type"] in EXPECTED and self.path == self.union


def findings(
    model: type[BaseModel],
    value: JsonValue,
    errors: Iterable[ErrorDetails],
    also_known: Iterable[str] = (),
) -> list[SchemaFinding]:
    """Return the findings of `model`'s errors about `value`.

    `also_known` are keys of `value` that someone else checks; unknown keys are compared with them
    too.
    """
    plain: list[_Located] = []
    unions: defaultdict[DocumentPath, list[_Located]] = defaultdict(list)
    for error in errors:
        located = _locate(value, error)
        if _only_follows(located):
            continue
        (plain if located.union is None else unions[located.union]).append(located)
    found = [_finding(model, located, also_known) for located in plain]
    for path, group in unions.items():
        best = _best_branch(group)
        found += [_finding(model, located, also_known) for located in best]
        if not best:
            wanted = dict.fromkeys(EXPECTED[located.error["type"]] for located in group)
            message = expected_sentence(list(wanted), group[0].value)
            found.append(SchemaFinding(path, Spot.VALUE, message))
    return found


def _only_follows(located: _Located) -> bool:
    """Whether a list or mapping is said to be too short just because its entries are wrong."""
    least: int = located.error.get("ctx", {}).get("min_length", 0)
    return (
        located.error["type"] == "too_short"
        and isinstance(located.value, list | dict)
        and len(located.value) >= least
    )


def _best_branch(group: list[_Located]) -> list[_Located]:
    """Return the errors of the branch that fits best, or none if no branch fits at all."""
    branches: defaultdict[str, list[_Located]] = defaultdict(list)
    for located in group:
        branches[located.branch].append(located)
    fitting = [
        branch for branch in branches.values() if not any(located.wrong_sort for located in branch)
    ]
    best = min(fitting, key=len, default=[])
    return [one for one in best if not _of_another_sort(one, best)]


def _of_another_sort(one: _Located, best: list[_Located]) -> bool:
    """Whether it comes from a union inside, of which another branch fits the value's sort."""
    depth = len(one.path)
    return one.error["type"] in EXPECTED and any(
        len(other.path) > depth and other.path[:depth] == one.path for other in best
    )


def _locate(value: JsonValue, error: ErrorDetails) -> _Located:
    """Follow an error's location through the value; what leads nowhere names a union's branch."""
    path: list[str | int] = []
    spot, union, branch = Spot.VALUE, None, ""
    for index, step in enumerate(error["loc"]):
        there, entry = look_up(value, step)
        if there:
            path.append(step)
            value = entry
        elif step == "[key]":
            spot = Spot.KEY
        elif error["type"] == "missing" and index == len(error["loc"]) - 1:
            path.append(step)
            spot = Spot.PARENT
        elif union is None:  # inside a branch, only the tag of a kind leads nowhere
            union, branch = tuple(path), str(step)
    if error["type"] == "extra_forbidden":
        spot = Spot.KEY
    return _Located(error, tuple(path), value, spot, union, branch)


def _finding(model: type[BaseModel], located: _Located, also_known: Iterable[str]) -> SchemaFinding:
    kind, last = located.error["type"], located.path[-1] if located.path else ""
    if kind == "missing":
        return SchemaFinding(located.path, Spot.PARENT, missing_key(str(last)))
    if kind == "extra_forbidden":
        known = known_keys(model, located.error["loc"][:-1])
        if len(located.path) == 1:
            known += also_known
        return SchemaFinding(located.path, Spot.KEY, unknown_key(str(last), known))
    return SchemaFinding(located.path, located.spot, sentence(located.error))


def known_keys(model: type[BaseModel], location: tuple[str | int, ...]) -> list[str]:
    """Return the keys that may stand in the mapping at pydantic's `location` inside `model`."""
    models = [model]
    for step in location:
        if isinstance(step, int):
            continue
        annotations = [
            field.annotation
            for inner in models
            for name, field in inner.model_fields.items()
            if (field.alias or name) == step
        ]
        named = [inner for inner in models if inner.__name__ == step]
        models = named or [inner for each in annotations for inner in _models_in(each)] or models
    names = [field.alias or name for inner in models for name, field in inner.model_fields.items()]
    return [name for name in dict.fromkeys(names) if name.isidentifier()]


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [inner for part in get_args(annotation) for inner in _models_in(part)]
