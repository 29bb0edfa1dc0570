"""Tools that the gate answers for: as the fixture says, all others shadowed. One per trial."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject, canonical_json
from gateval.domain.manifests.agent import AgentTool
from gateval.domain.manifests.fixture import ToolReplay
from gateval.domain.trials.model_call import ToolDefinition

SHADOW = '{"shadow": true}'
"""The result of a tool that nobody answers for: no tool of an agent is ever live here."""


class ToolAnswer(NamedTuple):
    """The tool's answer, as text; `is_error` says that it failed with that text.

    It comes after `delay` seconds. `status` is the HTTP status of a tool that is out of reach.
    """

    text: str
    is_error: bool = False
    delay: float = 0
    status: int | None = None


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

    def knows(self, tool: str) -> bool:
        """Whether the fixture says what this tool answers, or that it is shadowed."""
        return tool in self._shadow_tools or any(name == tool for name, _ in self._groups)

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
    if entry.error is not None or entry.status is not None:
        text = entry.error if entry.error is not None else f"The tool answers {entry.status}."
        return ToolAnswer(text, is_error=True, delay=entry.delay, status=entry.status)
    result = entry.result
    text = result if isinstance(result, str) else canonical_json(result)
    return ToolAnswer(text, delay=entry.delay)


def offered_tools(tools: tuple[AgentTool, ...]) -> tuple[ToolDefinition, ...]:
    """Return the agent's enabled tools as a model is offered them, each name once."""
    definitions: dict[str, ToolDefinition] = {}
    for tool in tools:
        if not tool.enabled or not tool.tool_name or tool.is_server:
            continue
        if tool.tool_name not in definitions:
            schema = {} if tool.input_schema is None else {"input_schema": tool.input_schema}
            definitions[tool.tool_name] = ToolDefinition(
                name=tool.tool_name, description=tool.description, **schema
            )
    return tuple(definitions.values())
