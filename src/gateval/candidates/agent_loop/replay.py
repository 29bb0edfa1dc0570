"""Answers tool calls as the fixture says, and shadows all others. Pure, one per trial."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject, canonical_json
from gateval.domain.manifests.fixture import ToolReplay

SHADOW = '{"shadow": true}'
"""The result of a tool that nobody answers for: no tool of an agent is ever live here."""


class ToolAnswer(NamedTuple):
    """The tool's answer, as text; `is_error` says that it failed with that text."""

    text: str
    is_error: bool = False


class Replay:
    """Counts calls, so that the nth call gets the nth recorded answer (see `ToolReplay`).

    Entries with arguments win over entries without. Calls count for the group of entries that
    answers them: those of one tool with the same arguments, or those of one tool without any.
    """

    def __init__(self, entries: tuple[ToolReplay, ...], shadow_tools: tuple[str, ...]) -> None:
        self._shadow_tools = frozenset(shadow_tools)
        self._groups: dict[tuple[str, str | None], list[ToolReplay]] = defaultdict(list)
        self._calls: dict[tuple[str, str | None], int] = defaultdict(int)
        for entry in entries:
            self._groups[_group(entry.tool, entry.arguments)].append(entry)

    def answer(self, tool: str, arguments: JsonObject) -> ToolAnswer:
        """Return the answer to the next call of `tool` with these arguments."""
        if tool in self._shadow_tools:
            return ToolAnswer(SHADOW)
        for group in (_group(tool, arguments), _group(tool, None)):
            entries = self._groups.get(group)
            if entries:
                entry = entries[min(self._calls[group], len(entries) - 1)]
                self._calls[group] += 1
                return _answer(entry)
        return ToolAnswer(SHADOW)


def _group(tool: str, arguments: JsonObject | None) -> tuple[str, str | None]:
    return tool, None if arguments is None else canonical_json(_plain_numbers(arguments))


def _plain_numbers(value: JsonValue) -> JsonValue:
    """Return `value` with 2.0 as 2: JSON does not tell them apart, and models write both."""
    if isinstance(value, dict):
        return {key: _plain_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain_numbers(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _answer(entry: ToolReplay) -> ToolAnswer:
    if entry.error is not None:
        return ToolAnswer(entry.error, is_error=True)
    result = entry.result
    return ToolAnswer(result if isinstance(result, str) else canonical_json(result))
