"""The rows of a golden set: each has an input, and may say what is expected and what it rests on.

A row is called by its `id`, else by its input, so that it stays the same row when what is expected
of it changes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import canonical_json, digest
from gateval.domain.manifests.fixtures.reference import Reference
from gateval.domain.repository.place import Place, Problem, nearest
from gateval.domain.text.quoting import quote
from gateval.formats.native.cases.case import Case

KEYS = ("id", "input", "expected", "reference")

REFERENCE_LIMIT = 100_000
"""Characters of a row's reference: a judge reads all of it, or none."""

_LONGEST = 40
_TELLING_APART = 6


class GoldenRow(NamedTuple):
    """A row. `word` is its part of the fixture's name."""

    word: str
    place: Place
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
        place = Place(file=file, line=case.line)
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


def _row(case: Case, place: Place) -> GoldenRow:
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
