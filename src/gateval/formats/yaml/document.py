"""A YAML document as plain data, with the place of every key and value."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from pydantic import JsonValue

from gateval.domain.repository.place import Place, Problem
from gateval.domain.text.quoting import quote

if TYPE_CHECKING:
    from yaml._yaml import Mark as CMark
    from yaml.error import Mark

Position: TypeAlias = "CMark | Mark | None"
"""A parser's mark, which counts from 0. PyYAML's types allow None; libyaml never gives it."""

DocumentPath = tuple[str | int, ...]
"""The way to a value: keys of mappings and indexes of lists (from 0), from the root."""

_BARE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(slots=True)
class Branching:
    """Where a mapping or list begins, and where its entries are; a list has no `keys`."""

    mark: Position
    keys: dict[str | int, Position] = field(default_factory=dict)
    entries: dict[str | int, Marks] = field(default_factory=dict)


Marks: TypeAlias = "Branching | Position"
"""The places of a value: a branch for a mapping or list, a bare mark for a scalar."""


@dataclass(frozen=True)
class Document:
    """One YAML document. `data` is JSON-like and must not be changed: aliased parts are shared.

    `file` is as `show_path` gives it. `problems` are those of this document's YAML: it could be
    read nonetheless, and the value in question is what the problem's text implies.
    """

    file: str
    data: JsonValue
    marks: Marks
    problems: tuple[Problem, ...] = ()

    def place(self, path: DocumentPath = ()) -> Place:
        """Return where the value at `path` begins, or the nearest value around it that exists."""
        marks = self._marks_at(path)
        return mark_place(self.file, marks.mark if isinstance(marks, Branching) else marks)

    def key_place(self, path: DocumentPath) -> Place:
        """Return where the key of `path` stands; an entry of a list stands for itself."""
        marks, found = self.marks, self.marks
        for step in path:
            if not isinstance(marks, Branching) or step not in marks.entries:
                break
            found = marks.keys.get(step, marks.entries[step])
            marks = marks.entries[step]
        return mark_place(self.file, found.mark if isinstance(found, Branching) else found)

    def key_places(self, path: DocumentPath, *, depth: int) -> dict[str, Place]:
        """Return the key places of all within `depth` levels below `path`, by written path."""
        marks = self._marks_at(path)
        found: dict[str, Place] = {}
        _collect(self.file, marks, write_path(path), depth, found)
        return found

    def data_at(self, path: DocumentPath) -> JsonValue:
        """Return the value at `path`, or None when there is none."""
        value = self.data
        for step in path:
            _, value = look_up(value, step)
        return value

    def _marks_at(self, path: DocumentPath) -> Marks:
        marks = self.marks
        for step in path:
            if not isinstance(marks, Branching) or step not in marks.entries:
                break
            marks = marks.entries[step]
        return marks


def look_up(value: JsonValue, step: str | int) -> tuple[bool, JsonValue]:
    """Return whether `value` has an entry at this key or index, and the entry or None."""
    if isinstance(value, dict) and isinstance(step, str) and step in value:
        return True, value[step]
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return True, value[step]
    return False, None


def mark_place(file: str, mark: Position) -> Place:
    """Return a parser's mark as a place."""
    if mark is None:
        return Place(file=file)
    return Place(file=file, line=mark.line + 1, column=mark.column + 1)


def write_path(path: DocumentPath) -> str:
    """Return a path as people read it: `spec.assertions[2].tool`, `labels["app/name"]`."""
    return "".join(write_step(step) for step in path).removeprefix(".")


def write_step(step: str | int) -> str:
    """Return one step of a path: `.tool`, `[2]`, `["app/name"]`."""
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _BARE_KEY.fullmatch(step) else f"[{quote(step)}]"


def _collect(file: str, marks: Marks, prefix: str, depth: int, found: dict[str, Place]) -> None:
    if depth == 0 or not isinstance(marks, Branching):
        return
    for step, entry in marks.entries.items():
        where = prefix + write_step(step)
        mark = marks.keys.get(step) or (entry.mark if isinstance(entry, Branching) else entry)
        found[where] = mark_place(file, mark)
        _collect(file, entry, where, depth - 1, found)
