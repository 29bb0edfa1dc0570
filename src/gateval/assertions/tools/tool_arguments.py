"""`toolArguments`: a tool was called with the right arguments."""

from __future__ import annotations

import json
from typing import ClassVar, Literal

from pydantic import Field

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Basis, Evidence
from gateval.assertions.matching.json_match import matches, without
from gateval.assertions.matching.tool_order import ToolName
from gateval.domain.base import JsonObject
from gateval.domain.trials.trace import Step
from gateval.domain.trials.trial import Assessment
from gateval.judging.neutral import shorten


class ToolArguments(Assertion):
    """The tool is called with these arguments.

    `mode: subset` lets a call have further arguments, at every level; `exact` does not. Lists must
    be equal in length either way; 1 equals 1.0 but not "1". `occurrence` says which calls must
    match: any of them, all, the first, or the last. A tool that is never called fails. Keys in
    `ignore` are left out on both sides; `address.zip` names a key inside `address`.
    """

    type: ClassVar[str] = "toolArguments"
    basis: ClassVar[Basis] = Basis.TRACE

    tool: ToolName = Field(description="The tool whose calls are looked at.")
    arguments: JsonObject = Field(description="The arguments expected.")
    mode: Literal["subset", "exact"] = Field(
        default="subset", description="Whether a call may have further arguments."
    )
    occurrence: Literal["any", "all", "first", "last"] = Field(
        default="any", description="Which calls of the tool must match."
    )
    ignore: tuple[str, ...] = Field(
        default=(), description="Arguments that do not matter: keys, or dotted paths to keys."
    )

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the calls that match, else on those that should have."""
        calls = evidence.tool_calls
        mine = calls.of(self.tool)
        expected = f"{self._which()} `{self.tool}` with {_shown(self.arguments)}"
        if not mine:
            return self.result(met=False, expected=expected, saw=str(calls))
        looked_at = {"first": mine[:1], "last": mine[-1:]}.get(self.occurrence, mine)
        matching = [step for step in looked_at if self._fits(step)]
        if self.occurrence == "any":
            met, telling = bool(matching), matching[:1] or mine
        else:
            other = [step for step in looked_at if step not in matching]
            met, telling = not other, tuple(other) or looked_at
        shown = telling[0] if met or self.occurrence != "any" else telling[-1]
        return self.result(
            met=met,
            expected=expected,
            saw=f"{_shown(shown.arguments)} at step {shown.number}",
            steps=[step.number for step in telling],
        )

    def _which(self) -> str:
        words = {"any": "a call of", "all": "all calls of"}
        extent = "exactly " if self.mode == "exact" else ""
        return extent + words.get(self.occurrence, f"the {self.occurrence} call of")

    def _fits(self, step: Step) -> bool:
        expected, actual = self.arguments, step.arguments
        if actual is None:
            return False
        for path in self.ignore:
            expected, actual = without(expected, path), without(actual, path)
        return matches(expected, actual, subset=self.mode == "subset")


def _shown(arguments: JsonObject | None) -> str:
    if arguments is None:
        return "arguments that are no JSON object"
    return shorten(json.dumps(arguments, ensure_ascii=False))
