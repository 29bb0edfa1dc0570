"""Reads the scorers of an experiment: assertions, each with a name that is its axis, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.domain.manifests.fixtures.feedback import PEOPLE
from gateval.domain.manifests.fixtures.reference import Reference
from gateval.domain.repository.place import Problem
from gateval.formats.native.experiments.rows import GoldenRow
from gateval.formats.native.kinds.assertion import WEIGHED_KEYS, read_one
from gateval.formats.native.written import Source
from gateval.formats.problems.sentences import missing_key, unknown_word
from gateval.formats.problems.validation import problem_at, validate
from gateval.formats.yaml.document import DocumentPath

PLACE: DocumentPath = ("spec", "scorers")

_ELSEWHERE = ("axis", "severity", "required")
"""Keys of assertions that scorers have no use for."""


@runtime_checkable
class Wanting(Protocol):
    """What can say that a case lacks what it needs."""

    def wants(self, reference: Reference) -> str:
        """Return a sentence, empty for nothing."""


@runtime_checkable
class Asking(Protocol):
    """What asks a judge the same question of every answer."""

    @property
    def question(self) -> str:
        """The question."""

    @property
    def shows(self) -> tuple[str, ...]:
        """What of `expected` and `reference` the judge is shown with it."""


class Scorers(NamedTuple):
    """The scorers as assertions, the options that were read for each, and all problems."""

    specs: tuple[AssertionSpec, ...]
    read: tuple[object, ...]
    problems: tuple[Problem, ...]

    def asking(self) -> Mapping[str, Asking]:
        """Return the judged scorers by name."""
        pairs = zip(self.specs, self.read, strict=True)
        return {spec.name: one for spec, one in pairs if isinstance(one, Asking)}

    def lacking(self, row: GoldenRow) -> Problem | None:
        """Return what a row lacks to be scored, None for nothing."""
        for spec, options in zip(self.specs, self.read, strict=True):
            said = options.wants(row.reference) if isinstance(options, Wanting) else ""
            if said:
                where = f"{said.rstrip('.')}, which the scorer {spec.name} at {spec.place} asks for"
                return Problem(place=row.place, message=f"{_in_rows(where)}.")
        return None


def read_scorers(source: Source) -> Scorers:
    """Return the scorers, each with the assertion it stands for; names are told once each."""
    written = source.document.data_at(PLACE)
    specs: dict[str, AssertionSpec] = {}
    read: list[object] = []
    problems: list[Problem] = []
    for index, one in enumerate(written if isinstance(written, list) else []):
        path = (*PLACE, index)
        raw: JsonObject | None = {"type": one} if isinstance(one, str) else None
        raw = one if isinstance(one, dict) else raw
        found, wrong = (None, ()) if raw is None else _one(source, path, raw)
        problems += wrong
        if found is None:
            continue
        if found.name == PEOPLE:
            message = f"`{PEOPLE}` is what feedback is called. Give the scorer another `name`."
            problems.append(problem_at(source.document, path, message))
        if found.name in specs:
            message = f"Two scorers are called {found.name}. Give one another `name`."
            problems.append(problem_at(source.document, path, message))
        specs[found.name] = found
        model = source.registries.assertions[found.type]
        read.append(validate(model, found.options, source.document, path)[0])
    return Scorers(tuple(specs.values()), tuple(read), tuple(problems))


def _one(
    source: Source, path: DocumentPath, raw: JsonObject
) -> tuple[AssertionSpec | None, Sequence[Problem]]:
    kind = raw.get("type")
    if not isinstance(kind, str):
        return None, [problem_at(source.document, path, missing_key("type"))]
    known = source.registries
    stands_for = known.scorers.get(kind)
    if stands_for is None and kind not in known.assertions:
        message = unknown_word("scorer", kind, [*known.scorers, *known.assertions])
        return None, [problem_at(source.document, (*path, "type"), message)]
    for key in _ELSEWHERE:
        if key in raw:
            message = f"A scorer has no `{key}`: it is an axis by itself, and has a `weight`."
            return None, [problem_at(source.document, (*path, key), message)]
    if stands_for is not None and "value" not in raw:  # with one, it is the assertion of that name
        raw = {**raw, **stands_for}
    found, problems = read_one(source, path, raw, WEIGHED_KEYS)
    if found is None:
        return None, problems
    name = found.name or kind
    return found.model_copy(update={"name": name, "axis": name}), problems


def _in_rows(said: str) -> str:
    """Return a sentence about a case's `reference` by the keys of a row."""
    told = said.replace(" of the case's `reference`", "")
    return told.replace("`answer`", "`expected`").replace("`context`", "`reference`")
