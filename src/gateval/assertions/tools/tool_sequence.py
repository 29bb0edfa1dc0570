"""`toolSequence`: tools were used in an order."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Basis, Evidence
from gateval.assertions.matching.tool_order import ToolName
from gateval.domain.trials.trial import Assessment


class ToolSequence(Assertion):
    """The named tools are called in this order.

    Other calls may come before, between and after them: the list is a subsequence of the calls. A
    tool named twice must be called twice.
    """

    type: ClassVar[str] = "toolSequence"
    basis: ClassVar[Basis] = Basis.TRACE

    tools: tuple[ToolName, ...] = Field(
        min_length=1, max_length=100, description="The tools, in the order they must be called in."
    )

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the calls that match, earliest first."""
        calls = evidence.tool_calls
        matched: list[int] = []
        for step in calls.steps:
            if len(matched) < len(self.tools) and step.tool == self.tools[len(matched)]:
                matched.append(step.number)
        met = len(matched) == len(self.tools)
        if met:
            noun = "step" if len(matched) == 1 else "steps"
            saw = f"them at {noun} {', '.join(map(str, matched))}"
        else:
            since = f" after step {matched[-1]}" if matched else ""
            saw = f"no `{self.tools[len(matched)]}`{since} in {calls}"
        expected = "the calls " + " → ".join(self.tools)
        return self.result(met=met, expected=expected, saw=saw, steps=matched)
