"""YAML as most manifests are written, read line by line in a part of a parser's time.

It reads ASCII text: mappings and lists in lines, `|` texts, flow values within one line, comments.
Whatever else stands in a file, it does not read at all: that is for `yaml_reader`, which also says
what is wrong. What both read, they read alike, places included; the tests compare them.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from pydantic import JsonValue

from gateval.domain.problems import COLUMN_BITS
from gateval.formats.yaml_document import (
    CONSTANTS,
    Branching,
    Marks,
    UnusableScalar,
    plain_value,
)

LONGEST = 64 * 1024
"""Bytes of a file; so many cannot hold more values than `yaml_reader` allows."""

DEEPEST = 32
"""Mappings and lists inside each other, fewer than `yaml_reader` allows."""

Read: TypeAlias = tuple[JsonValue, Marks]
"""A value and its places."""

_ALLOWED = b"\n" + bytes(range(0x20, 0x7F))

_FIRST = r"[A-Za-z0-9_./~<($=]"
_KEY = r"([A-Za-z_$][A-Za-z0-9_./$-]{0,99}+):"
_QUOTED = r"(\"[^\"\\\n]*+\"|'[^'\n]*+')"
_LINE = re.compile(
    r"^(?: *(?:#.*)?|"  # nothing, or a comment
    rf"( *)(- +)?(?:{_KEY}( +(?!#)|(?= #)|$))?(?:"
    rf"({_FIRST}(?:[^ :#\n]++|:(?=[^ \n])|(?<=[^ \n])#| ++(?=[^ #\n]))*)|{_QUOTED}|(\|-?)"
    r"|([{\[].*))? *(?: #.*)?|(.+))$",
    re.MULTILINE,
)
_Row: TypeAlias = tuple[str, str, str, str, str, str, str, str, str]
"""Of a line: indentation, dash, key, gap behind it, plain, quoted, `|`, flow value; any other."""

_BLANK: _Row = ("", "", "", "", "", "", "", "", "")
_END: _Row = ("", "", "", "", "", "", "", "", "---")

_INNER = r"[^ :#,\[\]{}?]"
_FLOW_ENTRY = re.compile(
    rf"(?:{_KEY} +)?(?:"
    rf"({_FIRST}(?:{_INNER}++|:(?=[A-Za-z0-9/])| ++(?={_INNER}))*)|{_QUOTED}|(?=[{{\[]))"
)
_FLOW_OPENS = re.compile(r"[{\[] *")
_FLOW_NEXT = re.compile(r" *(?:(,) *|[}\]])")
_FLOW_REST = re.compile(r" *(?: #.*)?$")


class _NotPlain(Exception):
    """A parser has to look at this file."""


def read_plain(text: str, data: bytes) -> list[Read] | None:
    """Return the documents of `data`, decoded in `text`; None if it is not plain enough."""
    if len(data) > LONGEST or not data.endswith(b"\n") or data.translate(None, _ALLOWED):
        return None
    try:
        return _Lines(text).documents()
    except (_NotPlain, UnusableScalar):
        return None


class _Lines:
    """Goes through the lines of a file, from one with something in it to the next.

    `_at` is the number of the current one, `_indent` where it begins; -1 at a document's end.
    """

    __slots__ = ("_at", "_indent", "_is_item", "_row", "_rows", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._rows: list[_Row] = _LINE.findall(text)
        self._rows.append(_END)
        self._at = -1
        self._go_on()

    def documents(self) -> list[Read]:
        """Read all of it."""
        found: list[Read] = []
        if self._indent < 0 and self._at < len(self._rows) - 1:
            self._go_on()  # the "---" before the first
        while True:
            if self._indent != 0:
                raise _NotPlain
            found.append(self._list(0, 1) if self._is_item else self._mapping(0, 1))
            if self._indent >= 0:
                raise _NotPlain
            if self._at == len(self._rows) - 1:
                return found
            self._go_on()

    def _go_on(self) -> None:
        rows, number = self._rows, self._at + 1
        while (row := rows[number]) == _BLANK:
            number += 1
        self._at, self._row = number, row
        if row[1]:
            self._indent, self._is_item = len(row[0]), True
        elif row[2]:
            self._indent, self._is_item = len(row[0]), False
        elif row[8] == "---":
            self._indent, self._is_item = -1, False
        else:
            raise _NotPlain

    def _mapping(self, column: int, depth: int) -> Read:
        """Read a mapping whose first key stands in this column of the current line."""
        if depth > DEEPEST:
            raise _NotPlain
        values: dict[str, JsonValue] = {}
        branch = Branching(self._at << COLUMN_BITS | column)
        keys, entries = branch.keys, branch.entries
        while True:
            name, gap = self._row[2:4]
            if name in values or name in CONSTANTS:
                raise _NotPlain
            keys[name] = place = self._at << COLUMN_BITS | column
            values[name], entries[name] = self._value(
                place + len(name) + 1 + len(gap), column, depth
            )
            if self._indent < column:
                return values, branch
            if self._indent > column or self._is_item:
                raise _NotPlain

    def _list(self, column: int, depth: int) -> Read:
        """Read a list, the dash of whose first item stands in this column of the current line."""
        if depth > DEEPEST:
            raise _NotPlain
        values: list[JsonValue] = []
        branch = Branching(self._at << COLUMN_BITS | column)
        while self._indent == column and self._is_item:
            row = self._row
            inner = column + len(row[1])
            if row[2]:
                self._indent, self._is_item = inner, False
                value, marks = self._mapping(inner, depth + 1)
            else:
                value, marks = self._value(self._at << COLUMN_BITS | inner, column, depth)
            branch.entries[len(values)] = marks
            values.append(value)
        if self._indent > column:
            raise _NotPlain
        return values, branch

    def _value(self, place: int, column: int, depth: int) -> Read:
        """Read the value at this place, or in the lines below, and go on; `column` is that of what
        it belongs to.
        """
        _, _, key, _, plain, quoted, block, flow, _ = self._row
        if plain:
            self._go_on()
            return plain_value(plain), place
        if quoted:
            self._go_on()
            return quoted[1:-1], place
        if block:
            return self._block(column, "" if block == "|-" else "\n"), place
        if flow:
            value, marks, end = _flow(flow, 0, place, depth + 1)
            if _FLOW_REST.match(flow, end) is None:
                raise _NotPlain
            self._go_on()
            return value, marks
        self._go_on()
        if key and self._is_item and self._indent >= column:
            return self._list(self._indent, depth + 1)
        if key and self._indent > column:
            return self._mapping(self._indent, depth + 1)
        raise _NotPlain

    def _block(self, column: int, ending: str) -> str:
        """Read the lines of a `|` text below the current one, and go on."""
        first = self._at + 1
        lines = self._text.split("\n", len(self._rows))
        indent = len(lines[first]) - len(lines[first].lstrip(" "))
        if indent <= column or indent == len(lines[first]):
            raise _NotPlain
        margin = " " * indent
        number = last = first
        while number < len(lines) and (lines[number].startswith(margin) or not lines[number]):
            if lines[number].isspace():
                raise _NotPlain
            if lines[number]:
                last = number
            number += 1
        if number < len(lines) and lines[number].isspace():
            raise _NotPlain
        self._at = last
        self._go_on()
        return "\n".join(one[indent:] for one in lines[first : last + 1]) + ending


def _flow(text: str, start: int, place: int, depth: int) -> tuple[JsonValue, Marks, int]:
    """Read the mapping or list that opens at `start`; return where it ends, too. `place` is that of
    the text.
    """
    opened = _FLOW_OPENS.match(text, start)
    if opened is None or depth > DEEPEST:
        raise _NotPlain
    branch, is_mapping, at = Branching(place + start), text[start] == "{", opened.end()
    closes = "}" if is_mapping else "]"
    named: dict[str, JsonValue] = {}
    values: list[JsonValue] = []
    more = not text.startswith(closes, at)
    at += not more
    while more:
        found = _FLOW_ENTRY.match(text, at)
        if found is None:
            raise _NotPlain
        key, plain, quoted = found.groups()
        if (key is not None) != is_mapping or key in named or key in CONSTANTS:
            raise _NotPlain
        value: JsonValue
        marks: Marks
        if plain or quoted:
            value = plain_value(plain) if plain else quoted[1:-1]
            marks, end = place + found.start(2 if plain else 3), found.end()
        else:
            value, marks, end = _flow(text, found.end(), place, depth + 1)
        if is_mapping:
            named[key], branch.keys[key], branch.entries[key] = value, place + at, marks
        else:
            branch.entries[len(values)] = marks
            values.append(value)
        following = _FLOW_NEXT.match(text, end)
        if following is None or (following[1] is None and text[following.end() - 1] != closes):
            raise _NotPlain
        at, more = following.end(), following[1] is not None
    return (named if is_mapping else values), branch, at
