"""The one YAML reader: bytes in, documents with places and all problems out, whatever the bytes.

The order matters, because each step protects the next: size, UTF-8, line breaks that git does not
know, tag directives (libyaml compares each with all others), then libyaml's events under limits of
depth and size. Nothing recurses further than the depth limit.

PyYAML's own composer is not used: its C form recurses without a limit (200,000 open brackets end
the process), resolves YAML 1.1, and needs a second pass over what this one has already seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

from pydantic import JsonValue
from yaml import YAMLError
from yaml.error import MarkedYAMLError
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from gateval.domain.paths import show_path
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.text import quote
from gateval.errors import EvaluationError
from gateval.formats.yaml_document import (
    Branching,
    Document,
    Marks,
    Position,
    UnusableScalar,
    mark_place,
    plain_value,
    short_tag,
    tagged_value,
    write_path,
)

if TYPE_CHECKING:
    from yaml._yaml import CParser


DEPTH_LIMIT = 64
"""Mappings and lists inside each other."""

NODE_LIMIT = 100_000
"""Values of one file, every alias counted as everything it stands for."""


class Refused(Exception):
    """The rest of the file cannot be read: a sentence and where it stopped."""

    def __init__(self, message: str, mark: Position) -> None:
        super().__init__(message)
        self.message = message
        self.mark = mark


_COLLECTION_TAGS = {
    MappingStartEvent: (None, "!", "tag:yaml.org,2002:map"),
    SequenceStartEvent: (None, "!", "tag:yaml.org,2002:seq"),
}


class _Anchored(NamedTuple):
    """A value with a name. `height`: levels of mappings and lists below its own; a scalar is -1."""

    value: JsonValue
    marks: Marks
    size: int
    height: int


class TreeBuilder:
    """Builds the documents of one stream, one after the other."""

    def __init__(self, parser: CParser, file: str) -> None:
        self._events: Iterator[Event] = iter(parser.get_event, None)
        self._file = file
        self._nodes = 0
        self._deepest = 0
        self._path: list[str | int] = []
        self._faults: list[Problem] = []
        self._anchors: dict[str, _Anchored | None] = {}

    def documents(self) -> Iterator[Document]:
        """Yield each document. Raises `Refused` or PyYAML's `YAMLError` where reading must stop."""
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                self._anchors.clear()
                self._faults.clear()
                data, marks = self._node(next(self._events), 1)
                yield Document(self._file, data, marks, tuple(self._faults))

    def _spend(self, nodes: int, mark: Position) -> None:
        """Count values. Raises `Refused` beyond `NODE_LIMIT`."""
        self._nodes += nodes
        if self._nodes > NODE_LIMIT:
            raise Refused(
                f"This file holds more than {NODE_LIMIT:,} values, every alias counted as all that "
                "it stands for. Make it smaller.",
                mark,
            )

    def _reach(self, depth: int, mark: Position) -> None:
        """Note a depth, from 1. Raises `Refused` beyond `DEPTH_LIMIT`."""
        self._deepest = max(self._deepest, depth)
        if depth > DEPTH_LIMIT:
            raise Refused(
                f"More than {DEPTH_LIMIT} mappings and lists stand inside each other here.", mark
            )

    def _node(self, event: Event, depth: int) -> tuple[JsonValue, Marks]:
        self._nodes += 1
        if self._nodes > NODE_LIMIT:
            self._spend(0, event.start_mark)
        mark = event.start_mark
        if type(event) is ScalarEvent:
            value = self._scalar(event)
            if event.anchor is not None:
                self._anchors[event.anchor] = _Anchored(value, mark, 1, -1)
            return value, mark
        if isinstance(event, CollectionStartEvent):
            return self._collection(event, depth)
        return self._alias(cast("AliasEvent", event), depth)  # nothing else begins a node

    def _collection(self, event: CollectionStartEvent, depth: int) -> tuple[JsonValue, Marks]:
        if depth > self._deepest:
            self._reach(depth, event.start_mark)
        if event.tag not in _COLLECTION_TAGS[type(event)]:
            tag = quote(short_tag(event.tag))
            self._fault(event.start_mark, f"The tag {tag} is not known here. Remove it.")
        if event.anchor is None:
            return self._entries(event, depth)
        self._anchors[event.anchor] = None
        nodes, outer, self._deepest = self._nodes, self._deepest, depth
        value, marks = self._entries(event, depth)
        height = self._deepest - depth
        self._deepest = max(outer, self._deepest)
        self._anchors[event.anchor] = _Anchored(value, marks, self._nodes - nodes, height)
        return value, marks

    def _entries(self, event: CollectionStartEvent, depth: int) -> tuple[JsonValue, Marks]:
        branch = Branching(event.start_mark)
        if isinstance(event, MappingStartEvent):
            return self._mapping(branch, depth), branch
        values: list[JsonValue] = []
        events, path, entries = self._events, self._path, branch.entries
        while type(entry := next(events)) is not SequenceEndEvent:
            path.append(len(values))
            value, entries[len(values)] = self._node(entry, depth + 1)
            values.append(value)
            path.pop()
        return values, branch

    def _mapping(self, branch: Branching, depth: int) -> JsonValue:
        values: dict[str, JsonValue] = {}
        events, path, keys, entries = self._events, self._path, branch.keys, branch.entries
        inner = depth + 1
        while type(event := next(events)) is not MappingEndEvent:
            key = self._key(event, depth)
            path.append(key)
            known = key in values
            if known:
                first = keys[key]
                line = first.line + 1 if first else 1
                said = f"The key {quote(key)} stands here twice, first in line {line}."
                self._fault(event.start_mark, said)
            value, marks = self._node(next(events), inner)
            if not known:
                values[key] = value
                keys[key], entries[key] = event.start_mark, marks
            path.pop()
        return values

    def _key(self, event: Event, depth: int) -> str:
        """Return the key, or a stand-in with a fault noted. Merge keys are one kind of it."""
        if type(event) is ScalarEvent and event.anchor is None:
            key = self._scalar(event)
            if isinstance(key, str) and key != "<<":  # as nearly all are
                return key
        else:
            key, _ = self._node(event, depth + 1)
        scalar = event if isinstance(event, ScalarEvent) else None
        if isinstance(key, str):
            if key == "<<" and scalar and scalar.implicit[0]:
                said = 'Merge keys ("<<") are not supported. Write the keys out.'
                self._fault(event.start_mark, said)
            return key
        if scalar:
            said = f"A key must be text. Put it in quotes: {quote(scalar.value)}."
            self._fault(event.start_mark, said)
            return scalar.value
        said = 'A key must be text, not a list or a mapping. A template needs quotes: "{{ … }}".'
        self._fault(event.start_mark, said)
        return f"?{len(self._faults)}"

    def _scalar(self, event: ScalarEvent) -> JsonValue:
        text = event.value
        try:
            if event.tag is not None:
                return tagged_value(event.tag, text)
            return plain_value(text) if event.implicit[0] else text
        except UnusableScalar as unusable:
            self._fault(event.start_mark, str(unusable))
            return str(event.value)

    def _alias(self, event: AliasEvent, depth: int) -> tuple[JsonValue, Marks]:
        name, mark = event.anchor or "", event.start_mark
        if name not in self._anchors:
            raise Refused(f"The alias {quote(name)} has no anchor before it.", mark)
        anchored = self._anchors[name]
        if anchored is None:
            raise Refused(f"The alias {quote(name)} stands inside the value that it names.", mark)
        self._spend(anchored.size, mark)
        self._reach(depth + anchored.height, mark)
        return anchored.value, anchored.marks

    def _fault(self, mark: Position, message: str) -> None:
        """Note something wrong that does not keep us from reading on."""
        place, path = mark_place(self._file, mark), write_path(tuple(self._path))
        self._faults.append(Problem(place=place, path=path, message=message))


_CONTROL = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_SENTENCES = {
    "mapping values are not allowed in this context": (
        'A key cannot stand here. Put the text in quotes if its ": " belongs to it, and check the '
        "indentation."
    ),
    "block sequence entries are not allowed in this context": (
        'A "- " list cannot begin here. Begin it on the line below its key.'
    ),
    "did not find expected key": (
        "A key is expected here. Check the indentation and the quotes in the lines before."
    ),
    "did not find expected '-' indicator": (
        "An entry of the list is expected here. Check the indentation."
    ),
    "did not find expected ',' or ']'": 'The list in "[ ]" is not closed before this.',
    "did not find expected ',' or '}'": 'The mapping in "{ }" is not closed before this.',
    "found a tab character that violates indentation": (
        "A tab cannot stand here. Indent with spaces."
    ),
    "could not find expected ':'": 'This is no key: a ": " is missing after it.',
    "found unexpected end of stream": "The quotes that open here are never closed.",
    "found invalid Unicode character escape code": (
        "This escape stands for no character. Write the character itself."
    ),
    "found unknown escape character": (
        'This escape is not known. In single quotes a "\\" needs no escape.'
    ),
    "found undefined tag handle": "This tag is not known here. Remove it.",
    "found incompatible YAML document": "Only YAML 1.1 and 1.2 can be read. Remove the %YAML line.",
}


_ABOUT_THE_START = {"could not find expected ':'", "found unexpected end of stream"}
"""Problems that are better shown where the text in question begins than where it failed."""


def place_of(file: str, before: str) -> SourceLocation:
    """Return the place right after the text `before`, which begins the file."""
    return SourceLocation(
        file=file,
        line=before.count("\n") + 1,
        column=len(before) - (before.rfind("\n") + 1) + 1,
    )


def syntax_error(file: str, data: bytes, error: MarkedYAMLError) -> Problem:
    """Return what is wrong where the parser stopped."""
    mark = error.problem_mark
    if mark is None or error.problem in _ABOUT_THE_START:
        mark = error.context_mark or mark
    place = SourceLocation(file=file) if mark is None else mark_place(file, mark)
    lines = data.decode("utf-8-sig").split("\n")
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    character = line[place.column - 1 : place.column]
    return Problem(place=place, message=_sentence(error, character))


def control_character(file: str, data: bytes) -> Problem:
    """Return the place of the first character that YAML forbids; `data` is UTF-8 and holds one."""
    text = data.decode("utf-8")
    found = _CONTROL.search(text)
    if found is None:
        return Problem(place=SourceLocation(file=file), message="This file cannot be read as YAML.")
    return Problem(
        place=place_of(file, text[: found.start()]),
        message=f"The control character U+{ord(found[0]):04X} cannot stand in YAML. Remove it, or "
        f'write it as an escape in double quotes: "\\x{ord(found[0]):02x}".',
    )


def _sentence(error: MarkedYAMLError, character: str) -> str:
    problem = error.problem or "the parser gave no reason"
    if problem == "found character that cannot start any token":
        if character == "\t":
            return "A tab cannot stand here. Indent with spaces."
        return f"The character {quote(character)} cannot begin a value. Put the text in quotes."
    if problem in _SENTENCES:
        return _SENTENCES[problem]
    context = f" {error.context}" if error.context else ""
    return f"This is not valid YAML: {problem}{context}."


BYTE_LIMIT = 1024 * 1024
"""Bytes of one file."""

_TAG_DIRECTIVES = 16
_ODD_BREAK = re.compile("\r(?!\n)|[\x85\u2028\u2029]")


def read_documents(path: str, data: bytes) -> tuple[tuple[Document, ...], tuple[Problem, ...]]:
    """Return the documents of a YAML file and all problems of their YAML, in order of place.

    `path` is the tracked path. Empty documents are left out. Documents before a syntax error are
    returned, those after it are not. Raises `EvaluationError` when PyYAML lacks libyaml.
    """
    file = show_path(path)
    if (problem := _first_glance(file, data)) is not None:
        return (), (problem,)
    documents: list[Document] = []
    stop = _read_all(file, data, documents)
    problems = [problem for document in documents for problem in document.problems]
    return (
        tuple(document for document in documents if document.data is not None),
        tuple(problems if stop is None else [*problems, stop]),
    )


def _first_glance(file: str, data: bytes) -> Problem | None:
    """What can be refused before YAML begins."""
    if len(data) > BYTE_LIMIT:
        return Problem(
            place=SourceLocation(file=file),
            message=f"This file has {len(data):,} bytes; {BYTE_LIMIT:,} are allowed. Split it.",
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return Problem(
            place=place_of(file, data[: error.start].decode("utf-8")),
            message=f"This is not UTF-8: the byte 0x{data[error.start]:02x} cannot stand here. "
            "Save the file as UTF-8.",
        )
    plain = text.isascii() and "\r" not in text
    if not plain and (odd := _ODD_BREAK.search(text)) is not None:
        return Problem(
            place=place_of(file, text[: odd.start()]),
            message=f"The character U+{ord(odd[0]):04X} breaks the line for some programs and not "
            'for others. Use a line feed, or an escape such as "\\u2028" in double quotes.',
        )
    if data.count(b"%TAG") > _TAG_DIRECTIVES:
        return Problem(
            place=place_of(file, text[: text.index("%TAG")]),
            message="This file has too many %TAG directives. Remove them: no tag is needed here.",
        )
    return None


def _read_all(file: str, data: bytes, documents: list[Document]) -> Problem | None:
    """Append each document; return why reading stopped early, if it did."""
    try:
        documents.extend(TreeBuilder(_parser(data), file).documents())
    except Refused as refused:
        return Problem(place=mark_place(file, refused.mark), message=refused.message)
    except MarkedYAMLError as error:
        return syntax_error(file, data, error)
    except YAMLError:
        return control_character(file, data)
    return None


def _parser(data: bytes) -> CParser:
    try:
        from yaml._yaml import CParser
    except ImportError:
        raise EvaluationError(
            "PyYAML was installed without libyaml, so manifests cannot be read.",
            hint="Install PyYAML from a wheel, or build it with libyaml's headers at hand.",
        ) from None
    return CParser(data)
