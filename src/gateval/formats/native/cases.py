"""Files of cases: what people write of them, and how they are read."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

from pydantic import Field, JsonValue

from gateval.domain.base import JsonObject, Spec, digest
from gateval.domain.paths import show_path
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.strict_json import (
    NotStrictJson,
    NotStrictListed,
    read_json,
    read_json_list,
    value_at,
)
from gateval.domain.text import quote
from gateval.formats.native.written import Written
from gateval.formats.problems import PROBLEM_LIMIT
from gateval.formats.templates import Names
from gateval.formats.yaml_document import Branching, DocumentPath
from gateval.formats.yaml_reader import read_documents

TEMPLATE_LIMIT = 64_000
"""Characters of one text with `{{ … }}`."""

NAMES = Names(
    whole=(),
    inside=(("case",), ("vars",)),
    known="`case` and `vars`",
    holder="there is no",
    limit=TEMPLATE_LIMIT,
)

_MEANT = re.compile(r"\{\{-?\s*(?:case|vars)\b")


class CasesFile(Spec):
    """The file that holds the cases of a fixture."""

    file: str = Field(min_length=1, max_length=1000)
    """The path of the file, from the manifest's folder or, after a `/`, from the repository's root:
    `.jsonl` (a JSON object in each line), `.csv` (the first line names the columns), or `.yaml`,
    `.yml` and `.json` with a list."""


class TemplateDocument(Written):
    """A fixture before its texts are filled in: what is in `spec` shows later."""

    kind: Literal["EvalFixture"]
    spec: JsonObject


def has_cases(body: JsonValue) -> bool:
    """Whether the document says where its cases are."""
    spec = value_at(body, "spec")
    return isinstance(spec, dict) and "cases" in spec


def templates_in(body: JsonValue) -> dict[DocumentPath, str]:
    """Return the texts in `spec` that are filled in, by their place in the document.

    With cases that is every text with `{{`, so that a slip does not go unnoticed; without, those
    that name `vars` or `case`.
    """
    every = has_cases(body)
    return {
        path: text
        for path, text in _within(body)
        if isinstance(text, str)
        and path[1:2] != ("cases",)
        and (("{{" in text) if every else _MEANT.search(text))
    }


def keys_in(body: JsonValue) -> Iterator[DocumentPath]:
    """Yield the paths of keys in `spec` that look like templates."""
    for path, value in _within(body):
        if isinstance(value, dict):
            yield from ((*path, key) for key in value if _MEANT.search(key))


def _within(body: JsonValue) -> Iterator[tuple[DocumentPath, JsonValue]]:
    """Yield `spec`, if it is a mapping, and every value in it, each with its path."""
    spec = value_at(body, "spec")
    todo: list[tuple[DocumentPath, JsonValue]] = [(("spec",), spec)]
    while todo and isinstance(spec, dict):
        at, one = todo.pop()
        yield at, one
        if isinstance(one, dict):
            todo += [((*at, key), inner) for key, inner in one.items()]
        elif isinstance(one, list):
            todo += [((*at, index), inner) for index, inner in enumerate(one)]


CASES_LIMIT = 10_000
"""Cases of one file."""

_LONGEST = 80
_DIGITS = 12
_TELLING_APART = 6


class CaseRow(NamedTuple):
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


def cases_of(file: str, rows: Iterable[CaseRow]) -> CasesRead:
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
            problems.append(Problem(place=SourceLocation(file=file, line=row.line), message=said))
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
    return name_part(str(values["id"]).strip(), _LONGEST)


def name_part(text: str, longest: int) -> str:
    """Return `text` as a part of a name: small letters, digits, `-` and `.`.

    Where more than case and punctuation is lost, a digest tells it from others.
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    word = re.sub(r"[^a-z0-9.]+", "-", plain).strip("-.")
    if text.isascii() and word and len(word) <= longest:
        return word
    return f"{word[:longest]}-{digest(text)[:_TELLING_APART]}".lstrip("-")


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


_SEPARATORS = {";": "semicolons", "\t": "tabs"}

_FIELD_LIMIT = 16 * 1024 * 1024
"""Characters of one field of CSV; the file itself is smaller."""


class _Unreadable(Exception):
    """A line that cannot be read. Raised, it says that nothing behind it can be."""

    def __init__(self, line: int, message: str, column: int = 1) -> None:
        super().__init__(message)
        self.line = line
        self.column = column

    def problem(self, path: str) -> Problem:
        """Return it with its place in the file."""
        place = SourceLocation(file=show_path(path), line=self.line, column=self.column)
        return Problem(place=place, message=str(self))


def read_cases(
    path: str, data: bytes, *, empty_is_absent: bool = False, each: bool = False
) -> CasesRead:
    """Return the cases of the tracked file `path`, and all problems with their lines.

    `path` ends in one of `ENDINGS`. A byte order mark and line breaks of Windows are fine. With
    `empty_is_absent`, an empty field of CSV, which has no other way to say so, is no value. With
    `each`, rows behind one that is wrong are read, too.
    """
    if path.endswith((".yaml", ".yml")):
        return _read_yaml(path, data)
    rows, wrong = _rows(path, data, each=each)
    if empty_is_absent and path.endswith(".csv"):
        for number, (line, value) in enumerate(rows):
            if isinstance(value, dict):
                rows[number] = CaseRow(line, {k: v for k, v in value.items() if v != ""})
    return _checked(show_path(path), rows, wrong)


def read_rows(path: str, data: bytes) -> tuple[list[CaseRow], list[Problem]]:
    """Return the rows of a file of JSON, JSON lines or CSV as they stand, and what is wrong."""
    return _rows(path, data, each=False)


def read_good_rows(path: str, data: bytes) -> tuple[list[CaseRow], list[Problem]]:
    """Return the same of a file of which single rows may be wrong: each of these is a problem, and
    the others are read. JSON that is no list, and CSV that is none, ends it.
    """
    return _rows(path, data, each=True)


def _rows(path: str, data: bytes, *, each: bool) -> tuple[list[CaseRow], list[Problem]]:
    rows: list[CaseRow] = []
    wrong: list[Problem] = []
    ending = path[path.rindex(".") :]
    try:
        text = _any_text(data) if each and ending == ".jsonl" else _text(data)
        for row in _READERS[ending](text):
            if isinstance(row, CaseRow) and len(rows) < CASES_LIMIT:
                rows.append(row)
                continue
            error = _Unreadable(row.line, _TOO_MANY) if isinstance(row, CaseRow) else row
            wrong.append(error.problem(path))
            if not each or isinstance(row, CaseRow):
                break
    except _Unreadable as error:
        wrong.append(error.problem(path))
    return rows, wrong


_TOO_MANY = f"A file may have {CASES_LIMIT:,} cases. Split it, with a manifest for each file."


def _checked(file: str, rows: list[CaseRow], wrong: list[Problem]) -> CasesRead:
    cases, problems = cases_of(file, rows)
    if not rows and not wrong:
        said = "There are no cases in this file. Add some, or remove what names it."
        wrong = [Problem(place=SourceLocation(file=file), message=said)]
    return CasesRead(cases, (*wrong, *problems)[:PROBLEM_LIMIT])


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _Unreadable(line, _NOT_UTF8) from None


def _any_text(data: bytes) -> str:
    """Return a text in which bytes that are no UTF-8 stand as halves of characters."""
    return data.decode("utf-8-sig", "surrogateescape")


def _json_lines(text: str) -> Iterator[CaseRow | _Unreadable]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.isspace():
            continue
        if not line.isascii() and _HALF.search(line):
            yield _Unreadable(number, _NOT_UTF8)
            continue
        try:
            yield CaseRow(number, read_json(line))
        except NotStrictJson as error:
            reason = str(error).partition(" at line 1, column ")
            column = int(reason[2] or 1)
            yield _Unreadable(number, f"This line is not JSON: {reason[0]}.", column)


_HALF = re.compile("[\ud800-\udfff]")
_NOT_UTF8 = "This line is not UTF-8. Save the file as UTF-8."


def _json(text: str) -> Iterator[CaseRow]:
    line, at = 1, 0
    try:
        for offset, value in read_json_list(text):
            line, at = line + text.count("\n", at, offset), offset
            yield CaseRow(line, value)
    except json.JSONDecodeError as error:
        told = f"This is no list in JSON: {error.msg}."
        raise _Unreadable(error.lineno, told, error.colno) from None
    except NotStrictListed as error:
        line, column = text.count("\n", 0, error.at) + 1, error.at - text.rfind("\n", 0, error.at)
        raise _Unreadable(line, f"Of the value that begins here: {error}.", column) from None


def _csv(text: str) -> Iterator[CaseRow | _Unreadable]:
    csv.field_size_limit(_FIELD_LIMIT)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    end = 0
    try:
        for fields in reader:
            line, end = end + 1, reader.line_num
            if not fields:
                continue
            if header is None:
                header = _header(line, fields)
            elif len(fields) != len(header):
                said = f"This row has {len(fields)} fields, but the header has {len(header)}."
                yield _Unreadable(line, f"{said} Put fields that hold a comma in double quotes.")
            else:
                yield CaseRow(line, dict(zip(header, fields, strict=True)))
    except csv.Error as error:
        raise _Unreadable(end + 1, f"This is not CSV: {error}.") from None


def _header(line: int, fields: list[str]) -> list[str]:
    names = [field.strip() for field in fields]
    for sign, called in _SEPARATORS.items():
        if len(names) == 1 and sign in names[0]:
            raise _Unreadable(line, f"Columns are separated by {called} here. Use commas.")
    for name in names:
        if not name:
            raise _Unreadable(line, "A column has no name. The first line names the columns.")
        if names.count(name) > 1:
            raise _Unreadable(line, f"Two columns are called {quote(name)}. Rename one.")
    return names


def _read_yaml(path: str, data: bytes) -> CasesRead:
    file = show_path(path)
    documents, problems = read_documents(path, data)
    if problems:
        return CasesRead((), problems)
    if not documents:
        return _checked(file, [], [])
    found, rest = documents[0], documents[1:]
    if rest or not isinstance(found.data, list) or not isinstance(found.marks, Branching):
        place = rest[0].place() if rest else found.place()
        said = "This file holds one list of cases, each of them `- name: value`."
        return CasesRead((), (Problem(place=place, message=said),))
    rows = [CaseRow(found.place((index,)).line, value) for index, value in enumerate(found.data)]
    if len(rows) > CASES_LIMIT:
        place = SourceLocation(file=file, line=rows[CASES_LIMIT].line)
        return CasesRead((), (Problem(place=place, message=_TOO_MANY),))
    return _checked(file, rows, [])


_READERS: dict[str, Callable[[str], Iterator[CaseRow | _Unreadable]]] = {
    ".jsonl": _json_lines,
    ".csv": _csv,
    ".json": _json,
}

ENDINGS = (*_READERS, ".yaml", ".yml")
"""How the name of a file of cases ends."""
