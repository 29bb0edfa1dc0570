"""`toolCalled`: a tool was used, where needed in the right order."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import Field, model_validator

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Basis, Evidence, ToolCalls
from gateval.assertions.matching.tool_order import ToolName, listed, refuse_itself
from gateval.domain.trials.trial import Assessment


class ToolCalled(Assertion):
    """The tool is called at least once.

    With `before`, its first call comes before the first call of each named tool that is called at
    all. With `after`, some call of it follows the first call of each named tool; a named tool that
    is never called fails. Both may be given; then both must hold. A refused call is none, except
    that asking for a tool of `before` too early fails all the same.
    """

    type: ClassVar[str] = "toolCalled"
    basis: ClassVar[Basis] = Basis.TRACE

    tool: ToolName = Field(description="The tool that must be called.")
    before: tuple[ToolName, ...] = Field(
        default=(), description="Tools whose first call must come later, if they are called."
    )
    after: tuple[ToolName, ...] = Field(
        default=(), description="Tools that must be called, each followed by a call of `tool`."
    )

    @model_validator(mode="after")
    def _can_hold(self) -> Self:
        refuse_itself(self.tool, self.before)
        return self

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the calls of the tools named."""
        calls = evidence.tool_calls
        mine = [step.number for step in calls.of(self.tool)]
        expected = f"a call of `{self.tool}`" + listed(before=self.before, after=self.after)
        numbers = (
            *(calls.first_asked(name) for name in self.before),
            *(calls.first(name) for name in self.after),
        )
        others = [number for number in numbers if number]
        if not mine:
            return self.result(met=False, expected=expected, saw=str(calls), steps=others)
        broken = [*self._late(mine[0], calls), *self._not_followed(mine[-1], calls)]
        return self.result(
            met=not broken,
            expected=expected,
            saw=" and ".join(broken) or f"`{self.tool}` at step {mine[0]}",
            steps=[mine[0], *([mine[-1]] if self.after else []), *others],
        )

    def _late(self, first: int, calls: ToolCalls) -> list[str]:
        numbers = {name: calls.first_asked(name) for name in self.before}
        return [
            f"`{name}` at step {number}, before the first `{self.tool}` at step {first}"
            for name, number in numbers.items()
            if number is not None and number < first
        ]

    def _not_followed(self, last: int, calls: ToolCalls) -> list[str]:
        broken = []
        for name in self.after:
            number = calls.first(name)
            if number is None:
                broken.append(f"no call of `{name}`")
            elif number >= last:
                broken.append(f"no `{self.tool}` after the first `{name}` at step {number}")
        return broken
