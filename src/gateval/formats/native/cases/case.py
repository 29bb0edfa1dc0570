"""One case of a file: its values, its line, and the word in its fixture's name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject, digest
from gateval.domain.repository.place import Place, Problem
from gateval.domain.text.quoting import quote

CASES_LIMIT = 10_000
"""Cases of one file."""

_LONGEST = 80
_DIGITS = 12
_TELLING_APART = 6


class Row(NamedTuple):
    """What stands at a line of the file, from 1."""

    line: int
    value: JsonValue


class Case(NamedTuple):
    """One case: the fixture of the template `refunds` is called `refunds-WORD`."""

    word: str
    line: int
    values: JsonObject


class CasesRead(NamedTuple):
    """The cases of a file and everything that is wrong with it."""

    cases: tuple[Case, ...]
    problems: tuple[Problem, ...]


def cases_of(file: str, rows: Iterable[Row]) -> CasesRead:
    """Return the rows as cases. Two that would have one name are a problem of the second."""
    cases: dict[str, Case] = {}
    problems: list[Problem] = []
    for row in rows:
        said = _wrong(row.value)
        if not said and isinstance(row.value, dict):
            case = Case(_word(row.value), row.line, row.value)
            first = cases.setdefault(case.word, case)
            said = "" if first is case else _double(first, case, file)
        if said:
            problems.append(Problem(place=Place(file=file, line=row.line), message=said))
    return CasesRead(tuple(cases.values()), tuple(problems))


def _wrong(value: JsonValue) -> str:
    if not isinstance(value, dict):
        return 'A case is a mapping of names to values, such as {"id": "a", "text": "Hi"}.'
    if "id" not in value:
        return "" if value else "This case is empty. Give it values, or remove it."
    given = value["id"]
    if isinstance(given, bool) or not isinstance(given, str | int):
        return "The `id` of a case is text or a whole number."
    return "" if str(given).strip() else "The `id` of this case is empty. Fill it in."


def _word(values: JsonObject) -> str:
    """Return the word that the id gives, or a digest of the content where there is none.

    It depends on this case alone. Letters that a name cannot hold are replaced; where more than
    case and punctuation is lost, a digest of the id tells it from others.
    """
    if "id" not in values:
        return digest(values)[:_DIGITS]
    given = str(values["id"]).strip()
    plain = unicodedata.normalize("NFKD", given).encode("ascii", "ignore").decode().lower()
    word = re.sub(r"[^a-z0-9.]+", "-", plain).strip("-.")
    if given.isascii() and word and len(word) <= _LONGEST:
        return word
    return f"{word[:_LONGEST]}-{digest(given)[:_TELLING_APART]}".lstrip("-")


def _double(first: Case, second: Case, file: str) -> str:
    where = f"{file}:{first.line}"
    if "id" not in second.values or "id" not in first.values:
        return f"This case is the same as the one at {where}. Remove it, or give each an `id`."
    one, other = str(first.values["id"]).strip(), str(second.values["id"]).strip()
    if one == other:
        return f"The id {quote(other)} stands at {where} already. Change one of them."
    return (
        f"The id {quote(other)} makes the same name as {quote(one)} at {where}: names hold small "
        "letters, digits, `-` and `.`. Change one of them."
    )
