"""The golden set of an experiment: its rows, and the scorers over them.

A row is called by its `id`, else by its input, so that it stays the same row when what is expected
of it changes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from pydantic import JsonValue

from gateval.domain.base import JsonObject, canonical_json, digest
from gateval.domain.manifests.fixture import AssertionSpec, Reference
from gateval.domain.manifests.messages import PEOPLE
from gateval.domain.paths import Problem, SourceLocation, nearest
from gateval.domain.text import quote
from gateval.formats.base import Source
from gateval.formats.native.cases import Case
from gateval.formats.native.fixture import WEIGHED_KEYS, read_one
from gateval.formats.problems import missing_key, problem_at, unknown_word, validate
from gateval.formats.yaml_document import DocumentPath

KEYS = ("id", "input", "expected", "reference")

REFERENCE_LIMIT = 100_000
"""Characters of a row's reference: a judge reads all of it, or none."""

_LONGEST = 40
_TELLING_APART = 6


class GoldenRow(NamedTuple):
    """A row. `word` is its part of the fixture's name."""

    word: str
    place: SourceLocation
    input: JsonValue
    reference: Reference

    @property
    def text(self) -> str:
        """The input as text."""
        return self.input if isinstance(self.input, str) else canonical_json(self.input)


class RowsRead(NamedTuple):
    """The rows, and everything that is wrong with them."""

    rows: tuple[GoldenRow, ...]
    problems: tuple[Problem, ...]


def golden_rows(file: str, cases: Sequence[Case]) -> RowsRead:
    """Return the rows of a file or manifest. Two with one input need an `id` each."""
    rows: dict[str, GoldenRow] = {}
    problems: list[Problem] = []
    for case in cases:
        place = SourceLocation(file=file, line=case.line)
        wrong = next(_wrong(case), "")
        if not wrong:
            row = _row(case, place)
            first = rows.setdefault(row.word, row)
            wrong = "" if first is row else _double(first)
        if wrong:
            problems.append(Problem(place=place, message=wrong))
    return RowsRead(tuple(rows.values()), tuple(problems))


def _wrong(case: Case) -> Iterator[str]:
    for key in case.values:
        if key not in KEYS:
            known = ", ".join(f"`{one}`" for one in KEYS)
            yield f"A row has no {quote(key)}, but {known}.{nearest(key, KEYS)}"
    given = case.values.get("input")
    if given is None or (isinstance(given, str) and not given.strip()):
        yield "This row has no `input`, which is what the task gets. Fill it in."
    if len(_text(case.values.get("reference"))) > REFERENCE_LIMIT:
        yield f"The `reference` of this row has more than {REFERENCE_LIMIT:,} characters."


def _row(case: Case, place: SourceLocation) -> GoldenRow:
    given = case.values["input"]
    named = case.values.get("id")
    return GoldenRow(
        word=_word(given) if named is None else case.word,
        place=place,
        input=given,
        reference=Reference(
            answer=case.values.get("expected"),
            context=case.values.get("reference"),
            case="" if named is None else str(named),
        ),
    )


def _word(given: JsonValue) -> str:
    """Return a word from an input, with a digest of it where the word does not say all."""
    text = _text(given)
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    word = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if word == text:
        return word[:_LONGEST].strip("-") if len(word) <= _LONGEST else _cut(word, text)
    return _cut(word, text)


def _cut(word: str, text: str) -> str:
    return f"{word[:_LONGEST].strip('-')}-{digest(text)[:_TELLING_APART]}".lstrip("-")


def _text(value: JsonValue) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else canonical_json(value)


def _double(first: GoldenRow) -> str:
    return f"The row at {first.place} has the same input. Remove one, or give each an `id`."


PLACE: DocumentPath = ("spec", "scorers")

_ELSEWHERE = ("axis", "severity", "required")
"""Keys of assertions that scorers have no use for."""


@runtime_checkable
class MissingInput(Protocol):
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
            said = options.wants(row.reference) if isinstance(options, MissingInput) else ""
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
