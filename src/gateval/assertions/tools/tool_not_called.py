"""`toolNotCalled`: a tool was left alone, or left alone at the wrong moment."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import Field, model_validator

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Basis, Evidence
from gateval.assertions.matching.tool_order import ToolName, listed, refuse_itself
from gateval.domain.trials.trace import Step
from gateval.domain.trials.trial import Assessment


class ToolNotCalled(Assertion):
    """The tool is never called.

    With `before`, only calls ahead of the first call of each named tool are forbidden; if a named
    tool is never called, every call is. With `after`, only calls behind the first call of a named
    tool are forbidden; a named tool that is never called forbids nothing. Both may be given; then
    both must hold. Asking for a tool counts even if the call was refused. A claimed trace without
    a step is an error: it proves nothing. A tool that a declarative agent must not use stands among
    its `tools` with `enabled: false`; of a name that is not there, `validate` and plans warn.
    """

    type: ClassVar[str] = "toolNotCalled"
    basis: ClassVar[Basis] = Basis.TRACE

    tool: ToolName = Field(description="The tool that must not be called.")
    before: tuple[ToolName, ...] = Field(
        default=(), description="Tools that must have been called before `tool` may be."
    )
    after: tuple[ToolName, ...] = Field(
        default=(), description="Tools after whose first call `tool` may not be called."
    )

    @model_validator(mode="after")
    def _can_fail(self) -> Self:
        refuse_itself(self.tool, self.before)
        return self

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the forbidden calls, or on the calls that set the border."""
        calls = evidence.tool_calls
        evidence.refuse_empty_claim()
        before = {name: calls.first(name) for name in self.before}
        after = {name: calls.first_asked(name) for name in self.after}
        borders = {**before, **after}
        asked = [step for step in calls.asked if step.tool == self.tool]
        forbidden = [step for step in asked if self._is_forbidden(step, before, after)]
        expected = f"no call of `{self.tool}`" + listed(before=self.before, after=self.after)
        known = [number for number in borders.values() if number is not None]
        if not forbidden:
            return self.result(met=True, expected=expected, saw="none", steps=known)
        numbers = [step.number for step in forbidden]
        saw = f"it at step {', '.join(map(str, numbers[:5]))}"
        if len(numbers) > 5:
            saw += f" and {len(numbers) - 5} more times"
        return self.result(met=False, expected=expected, saw=saw, steps=[*numbers, *known])

    def _is_forbidden(
        self, step: Step, before: dict[str, int | None], after: dict[str, int | None]
    ) -> bool:
        if not before and not after:
            return True
        return any(border is None or step.number < border for border in before.values()) or any(
            border is not None and step.number > border for border in after.values()
        )
