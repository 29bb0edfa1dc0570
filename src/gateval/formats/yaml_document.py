"""A YAML document as plain data, with the place of every key and value.

Source: YAML 1.2.2, section 10.3.2 (https://yaml.org/spec/1.2.2/#1032-tag-resolution). So `yes`,
`1:30` and dates are text, `012` is twelve, and a number is a number however it is spelled.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from pydantic import JsonValue

from gateval.domain.problems import Places, Problem, SourceLocation
from gateval.domain.text import quote

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


_NO_DEEPER: Mapping[str | int, int] = {}


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

    def place(self, path: DocumentPath = ()) -> SourceLocation:
        """Return where the value at `path` begins, or the nearest value around it that exists."""
        marks = self._marks_at(path)
        return mark_place(self.file, marks.mark if isinstance(marks, Branching) else marks)

    def key_place(self, path: DocumentPath) -> SourceLocation:
        """Return where the key of `path` stands; an entry of a list stands for itself."""
        marks, found = self.marks, self.marks
        for step in path:
            if not isinstance(marks, Branching) or step not in marks.entries:
                break
            found = marks.keys.get(step, marks.entries[step])
            marks = marks.entries[step]
        return mark_place(self.file, found.mark if isinstance(found, Branching) else found)

    def key_places(
        self, path: DocumentPath, *, depth: int, deeper: Mapping[str | int, int] = _NO_DEEPER
    ) -> Places:
        """Return the key places of all within `depth` levels below `path`, by written path.

        `deeper` are entries at `path` below which there are more levels.
        """
        found: dict[str, int] = {}
        _collect(self._marks_at(path), write_path(path), depth, found, deeper)
        return Places(self.file, found)

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


def mark_place(file: str, mark: Position) -> SourceLocation:
    """Return a parser's mark as a place."""
    if mark is None:
        return SourceLocation(file=file)
    return SourceLocation(file, mark.line + 1, mark.column + 1)


def write_path(path: DocumentPath) -> str:
    """Return a path as people read it: `spec.assertions[2].tool`, `labels["app/name"]`."""
    return "".join(write_step(step) for step in path).removeprefix(".")


def write_step(step: str | int) -> str:
    """Return one step of a path: `.tool`, `[2]`, `["app/name"]`."""
    if isinstance(step, int):
        return f"[{step}]"
    bare = (step.isascii() and step.isidentifier()) or _BARE_KEY.fullmatch(step)
    return f".{step}" if bare else f"[{quote(step)}]"


def _collect(
    marks: Marks, prefix: str, depth: int, found: dict[str, int], deeper: Mapping[str | int, int]
) -> None:
    if depth == 0 or not isinstance(marks, Branching):
        return
    keys = marks.keys
    for step, entry in marks.entries.items():
        where = prefix + write_step(step)
        if isinstance(entry, Branching):
            mark = keys.get(step) or entry.mark
            below = deeper.get(step, depth - 1)
        else:
            mark, below = keys.get(step) or entry, 0
        found[where] = Places.pack(mark.line, mark.column) if mark else 0
        if below:
            _collect(entry, where, below, found, _NO_DEEPER)


LENGTH_LIMIT = 300
"""Characters of a number. More cannot be meant, and long ones are slow to convert."""

_CONSTANTS: dict[str, JsonValue] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_STARTS = frozenset("+-.0123456789")
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NO_JSON_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

_TAGS: dict[str, tuple[str, tuple[type, ...]]] = {
    "tag:yaml.org,2002:null": ("nothing", (type(None),)),
    "tag:yaml.org,2002:bool": ("true or false", (bool,)),
    "tag:yaml.org,2002:int": ("a whole number", (int,)),
    "tag:yaml.org,2002:float": ("a number", (int, float)),
}
_TEXT_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})


class UnusableScalar(ValueError):
    """A scalar that has no meaning here; its text is a sentence for a person."""


def plain_value(text: str) -> JsonValue:
    """Return the value of an unquoted scalar without a tag. Raises `UnusableScalar`."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    return _number(text)


def tagged_value(tag: str, text: str) -> JsonValue:
    """Return the value of a scalar with an explicit tag. Raises `UnusableScalar`."""
    if tag in _TEXT_TAGS:
        return text
    if tag not in _TAGS:
        raise UnusableScalar(f"The tag {quote(short_tag(tag))} is not known here. Remove it.")
    noun, types = _TAGS[tag]
    value = plain_value(text)
    if type(value) not in types:
        raise UnusableScalar(f"The tag {quote(short_tag(tag))} asks for {noun}.")
    return float(value) if tag.endswith(":float") and isinstance(value, int) else value


def short_tag(tag: str) -> str:
    """Return a tag as people write it: `!!int` for `tag:yaml.org,2002:int`."""
    return tag.replace("tag:yaml.org,2002:", "!!", 1)


def _number(text: str) -> JsonValue:
    if _NO_JSON_NUMBER.fullmatch(text):
        raise UnusableScalar(
            f"{text} is no number that JSON can hold. Write a finite number, or put it in quotes."
        )
    whole = _DECIMAL.fullmatch(text)
    based = None if whole else _BASED.fullmatch(text)
    if not (whole or based or _FLOAT.fullmatch(text)):
        return text
    if len(text) > LENGTH_LIMIT:
        raise UnusableScalar(
            f"This number has more than {LENGTH_LIMIT} characters. Put it in quotes if it is text."
        )
    if whole:
        return int(text)
    if based:
        return int(text[2:], 8 if text[1] == "o" else 16)
    number = float(text)
    if math.isinf(number):
        raise UnusableScalar(
            f"{quote(text)} is too large for a number. Put it in quotes if it is text."
        )
    return number
