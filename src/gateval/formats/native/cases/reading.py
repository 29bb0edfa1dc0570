"""Reads a file of cases: JSON lines, CSV with a header, or a list in YAML or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator

from pydantic import JsonValue

from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Place, Problem
from gateval.domain.text.quoting import quote
from gateval.domain.text.strict_json import (
    NotStrictJson,
    NotStrictListed,
    read_json,
    read_json_list,
)
from gateval.formats.native.cases.case import CASES_LIMIT, CasesRead, Row, cases_of
from gateval.formats.problems.validation import PROBLEM_LIMIT
from gateval.formats.yaml.document import Branching
from gateval.formats.yaml.reader import read_documents

_SEPARATORS = {";": "semicolons", "\t": "tabs"}

_FIELD_LIMIT = 16 * 1024 * 1024
"""Characters of one field of CSV; the file itself is smaller."""


class _Unreadable(Exception):
    """A line that cannot be read; the rest of the file is not looked at."""

    def __init__(self, line: int, message: str, column: int = 1) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def read_cases(path: str, data: bytes, *, empty_is_absent: bool = False) -> CasesRead:
    """Return the cases of the tracked file `path`, and all problems with their lines.

    `path` ends in one of `ENDINGS`. A byte order mark and line breaks of Windows are fine. With
    `empty_is_absent`, an empty field of CSV, which has no other way to say so, is no value.
    """
    if path.endswith((".yaml", ".yml")):
        return _read_yaml(path, data)
    rows, wrong = read_rows(path, data)
    if empty_is_absent and path.endswith(".csv"):
        rows = [row._replace(value=_filled(row.value)) for row in rows]
    return _checked(show_path(path), rows, wrong)


def _filled(value: JsonValue) -> JsonValue:
    return {k: v for k, v in value.items() if v != ""} if isinstance(value, dict) else value


def read_rows(path: str, data: bytes) -> tuple[list[Row], list[Problem]]:
    """Return the rows of a file of JSON, JSON lines or CSV as they stand, and what is wrong."""
    rows: list[Row] = []
    wrong: list[Problem] = []
    try:
        _collect(_READERS[path[path.rindex(".") :]](_text(data)), rows)
    except _Unreadable as error:
        place = Place(file=show_path(path), line=error.line, column=error.column)
        wrong.append(Problem(place=place, message=str(error)))
    return rows, wrong


def _collect(found: Iterator[Row], rows: list[Row]) -> None:
    for row in found:
        if len(rows) == CASES_LIMIT:
            raise _Unreadable(row.line, _TOO_MANY)
        rows.append(row)


_TOO_MANY = f"A file may have {CASES_LIMIT:,} cases. Split it, with a manifest for each file."


def _checked(file: str, rows: list[Row], wrong: list[Problem]) -> CasesRead:
    cases, problems = cases_of(file, rows)
    if not rows and not wrong:
        said = "There are no cases in this file. Add some, or remove what names it."
        wrong = [Problem(place=Place(file=file), message=said)]
    return CasesRead(cases, (*wrong, *problems)[:PROBLEM_LIMIT])


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _Unreadable(line, "This line is not UTF-8. Save the file as UTF-8.") from None


def _json_lines(text: str) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.isspace():
            continue
        try:
            yield Row(number, read_json(line))
        except NotStrictJson as error:
            reason = str(error).partition(" at line 1, column ")
            column = int(reason[2] or 1)
            raise _Unreadable(number, f"This line is not JSON: {reason[0]}.", column) from None


def _json(text: str) -> Iterator[Row]:
    line, at = 1, 0
    try:
        for offset, value in read_json_list(text):
            line, at = line + text.count("\n", at, offset), offset
            yield Row(line, value)
    except json.JSONDecodeError as error:
        told = f"This is no list in JSON: {error.msg}."
        raise _Unreadable(error.lineno, told, error.colno) from None
    except NotStrictListed as error:
        line, column = text.count("\n", 0, error.at) + 1, error.at - text.rfind("\n", 0, error.at)
        raise _Unreadable(line, f"Of the value that begins here: {error}.", column) from None


def _csv(text: str) -> Iterator[Row]:
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
                raise _Unreadable(line, f"{said} Put fields that hold a comma in double quotes.")
            else:
                yield Row(line, dict(zip(header, fields, strict=True)))
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
    rows = [Row(found.place((index,)).line, value) for index, value in enumerate(found.data)]
    if len(rows) > CASES_LIMIT:
        place = Place(file=file, line=rows[CASES_LIMIT].line)
        return CasesRead((), (Problem(place=place, message=_TOO_MANY),))
    return _checked(file, rows, [])


_READERS: dict[str, Callable[[str], Iterator[Row]]] = {
    ".jsonl": _json_lines,
    ".csv": _csv,
    ".json": _json,
}

ENDINGS = (*_READERS, ".yaml", ".yml")
"""How the name of a file of cases ends."""
