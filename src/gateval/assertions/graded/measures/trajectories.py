"""Finds the calls that are expected among those that were made, by the rules of AgentV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

from pydantic import Field, JsonValue

from gateval.assertions.matching.json_match import json_equal
from gateval.assertions.matching.tool_order import ToolName
from gateval.domain.base import JsonObject, Spec
from gateval.domain.trials.trace import Step

ArgumentsMatch = Literal["exact", "superset", "subset", "ignore"] | tuple[str, ...]

_MISSING: Final = object()


class ExpectedCall(Spec):
    """A call that is expected. Without `arguments`, any will do."""

    tool: ToolName = Field(description="The tool.")
    arguments: JsonObject | None = Field(default=None, description="What it is called with.")
    arguments_match: ArgumentsMatch | None = Field(
        default=None, description="How they are compared, where it is not as for the others."
    )
    max_seconds: float | None = Field(
        default=None, ge=0, description="The seconds that the tool may take for it."
    )

    def fits(self, call: Step, usual: ArgumentsMatch) -> bool:
        """Whether a call of any tool is this one."""
        how = usual if self.arguments_match is None else self.arguments_match
        return call.tool == self.tool and arguments_fit(self.arguments, call.arguments, how)


Fits = Callable[[ExpectedCall, Step], bool]
Aligned = list[Step | None]
"""For each expected call the one that was made, or None."""


def in_order(expected: Sequence[ExpectedCall], calls: Sequence[Step], fits: Fits) -> Aligned:
    """Find each after the one before it: the next call of its tool, which is used up either way."""
    found: Aligned = []
    start = 0
    for one in expected:
        at = next((i for i in range(start, len(calls)) if calls[i].tool == one.tool), None)
        found.append(None if at is None or not fits(one, calls[at]) else calls[at])
        start = start if at is None else at + 1
    return found


def exact(expected: Sequence[ExpectedCall], calls: Sequence[Step], fits: Fits) -> Aligned:
    """Find each at its own position."""
    return [
        calls[at] if at < len(calls) and fits(one, calls[at]) else None
        for at, one in enumerate(expected)
    ]


def superset(expected: Sequence[ExpectedCall], calls: Sequence[Step], fits: Fits) -> Aligned:
    """Find each anywhere: the first call that fits and was not taken by one before it."""
    left = list(calls)
    found: Aligned = []
    for one in expected:
        call = next((call for call in left if fits(one, call)), None)
        if call is not None:
            left.remove(call)
        found.append(call)
    return found


def subset(expected: Sequence[ExpectedCall], calls: Sequence[Step], fits: Fits) -> list[bool]:
    """Tell of each call that was made whether it is one of those expected."""
    return [any(fits(one, call) for one in expected) for call in calls]


def arguments_fit(
    expected: JsonObject | None, actual: JsonObject | None, how: ArgumentsMatch
) -> bool:
    """Whether the arguments of a call are those expected; None expects nothing of them."""
    if expected is None or how == "ignore":
        return True
    if actual is None:
        return False
    if how == "exact":
        return json_equal(expected, actual)
    if isinstance(how, tuple):
        return all(_same(_at(expected, path), _at(actual, path)) for path in how)
    keys = expected if how == "superset" else actual
    return all(_same(expected.get(key, _MISSING), actual.get(key, _MISSING)) for key in keys)


def _at(value: JsonValue, path: str) -> object:
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return _MISSING
        value = value[name]
    return value


def _same(one: object, other: object) -> bool:
    if one is _MISSING or other is _MISSING:
        return one is other
    return json_equal(one, other)  # type: ignore[arg-type] # what is there is JSON
