"""Assertions on tool calls: `toolCalled`, `toolNotCalled`, `toolArguments`, `toolSequence`."""

from __future__ import annotations

import json
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Basis, Evidence, ToolCalls
from gateval.assertions.matching import matches, without
from gateval.domain.base import JsonObject
from gateval.domain.trials.trace import Step
from gateval.domain.trials.trial import Assessment
from gateval.judging.prompt import shorten

ToolName = Annotated[str, Field(min_length=1, max_length=200)]
"""The name of a tool, exactly as the agent calls it."""


def refuse_itself(tool: str, before: tuple[str, ...]) -> None:
    """Raise ValueError if `before` names the tool itself: that holds always or never."""
    if tool in before:
        raise ValueError(f"`before` names `{tool}` itself, and a call cannot come before itself")


def listed(*, before: tuple[str, ...], after: tuple[str, ...]) -> str:
    """Return the order asked for as the end of a sentence: " before `a`, `b` and after `c`"."""
    parts = [
        f" {word} " + ", ".join(f"`{name}`" for name in names)
        for word, names in (("before", before), ("after", after))
        if names
    ]
    return " and".join(parts)


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
