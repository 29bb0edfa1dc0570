"""From the parser's events to data and marks, in one pass, under limits that hold while it runs.

PyYAML's own composer is not used: its C form recurses without a limit (200,000 open brackets end
the process), resolves YAML 1.1, and needs a second pass over what this one has already seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

from pydantic import JsonValue
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

from gateval.domain.text.quoting import quote
from gateval.formats.yaml.document import Branching, DocumentPath, Marks, Position
from gateval.formats.yaml.limits import Refused, YamlBudget
from gateval.formats.yaml.scalars import UnusableScalar, plain_value, short_tag, tagged_value

_COLLECTION_TAGS = {
    MappingStartEvent: (None, "!", "tag:yaml.org,2002:map"),
    SequenceStartEvent: (None, "!", "tag:yaml.org,2002:seq"),
}


if TYPE_CHECKING:
    from yaml import CBaseLoader


class Fault(NamedTuple):
    """Something wrong that does not keep us from reading on."""

    mark: Position
    path: DocumentPath
    message: str


class Built(NamedTuple):
    """One document: its data, its marks, its faults."""

    data: JsonValue
    marks: Marks
    faults: tuple[Fault, ...]


class _Anchored(NamedTuple):
    """A value with a name. `height`: levels of mappings and lists below its own; a scalar is -1."""

    value: JsonValue
    marks: Marks
    size: int
    height: int


class TreeBuilder:
    """Builds the documents of one stream, one after the other."""

    def __init__(self, parser: CBaseLoader) -> None:
        self._events: Iterator[Event] = iter(parser.get_event, None)
        self._budget = YamlBudget()
        self._path: list[str | int] = []
        self._faults: list[Fault] = []
        self._anchors: dict[str, _Anchored | None] = {}

    def documents(self) -> Iterator[Built]:
        """Yield each document. Raises `Refused` or PyYAML's `YAMLError` where reading must stop."""
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                self._anchors.clear()
                self._faults.clear()
                data, marks = self._node(next(self._events), 1)
                yield Built(data, marks, tuple(self._faults))

    def _node(self, event: Event, depth: int) -> tuple[JsonValue, Marks]:
        self._budget.spend(1, event.start_mark)
        if isinstance(event, ScalarEvent):
            value = self._scalar(event)
            if event.anchor is not None:
                self._anchors[event.anchor] = _Anchored(value, event.start_mark, 1, -1)
            return value, event.start_mark
        if isinstance(event, CollectionStartEvent):
            return self._collection(event, depth)
        return self._alias(cast("AliasEvent", event), depth)  # nothing else begins a node

    def _collection(self, event: CollectionStartEvent, depth: int) -> tuple[JsonValue, Marks]:
        self._budget.reach(depth, event.start_mark)
        if event.tag not in _COLLECTION_TAGS[type(event)]:
            tag = quote(short_tag(event.tag))
            self._fault(event.start_mark, f"The tag {tag} is not known here. Remove it.")
        if event.anchor is None:
            return self._entries(event, depth)
        self._anchors[event.anchor] = None
        budget = self._budget
        nodes, outer, budget.deepest = budget.nodes, budget.deepest, depth
        value, marks = self._entries(event, depth)
        height = budget.deepest - depth
        budget.deepest = max(outer, budget.deepest)
        self._anchors[event.anchor] = _Anchored(value, marks, budget.nodes - nodes, height)
        return value, marks

    def _entries(self, event: CollectionStartEvent, depth: int) -> tuple[JsonValue, Marks]:
        branch = Branching(event.start_mark)
        if isinstance(event, MappingStartEvent):
            return self._mapping(branch, depth), branch
        return self._sequence(branch, depth), branch

    def _sequence(self, branch: Branching, depth: int) -> JsonValue:
        values: list[JsonValue] = []
        while not isinstance(event := next(self._events), SequenceEndEvent):
            self._path.append(len(values))
            value, branch.entries[len(values)] = self._node(event, depth + 1)
            values.append(value)
            self._path.pop()
        return values

    def _mapping(self, branch: Branching, depth: int) -> JsonValue:
        values: dict[str, JsonValue] = {}
        while not isinstance(event := next(self._events), MappingEndEvent):
            key = self._key(event, depth)
            self._path.append(key)
            if key in values:
                self._fault(event.start_mark, _twice(key, branch.keys[key]))
            value, marks = self._node(next(self._events), depth + 1)
            if key not in values:
                values[key] = value
                branch.keys[key], branch.entries[key] = event.start_mark, marks
            self._path.pop()
        return values

    def _key(self, event: Event, depth: int) -> str:
        """Return the key, or a stand-in with a fault noted. Merge keys are one kind of it."""
        if isinstance(event, ScalarEvent) and event.anchor is None:
            key = self._scalar(event)
        else:
            key, _ = self._node(event, depth + 1)
        if isinstance(key, str):
            if key == "<<" and isinstance(event, ScalarEvent) and event.implicit[0]:
                self._fault(
                    event.start_mark, 'Merge keys ("<<") are not supported. Write the keys out.'
                )
            return key
        if isinstance(event, ScalarEvent):
            self._fault(
                event.start_mark, f"A key must be text. Put it in quotes: {quote(event.value)}."
            )
            return event.value
        said = 'A key must be text, not a list or a mapping. A template needs quotes: "{{ … }}".'
        self._fault(event.start_mark, said)
        return f"?{len(self._faults)}"

    def _scalar(self, event: ScalarEvent) -> JsonValue:
        try:
            if event.tag is not None:
                return tagged_value(event.tag, event.value)
            return plain_value(event.value) if event.implicit[0] else str(event.value)
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
        self._budget.spend(anchored.size, mark)
        self._budget.reach(depth + anchored.height, mark)
        return anchored.value, anchored.marks

    def _fault(self, mark: Position, message: str) -> None:
        self._faults.append(Fault(mark, tuple(self._path), message))


def _twice(key: str, first: Position) -> str:
    line = first.line + 1 if first else 1
    return f"The key {quote(key)} stands here twice, first in line {line}."
