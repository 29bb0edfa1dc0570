"""Assertions on tool calls: `toolCalled`, `toolNotCalled`, `toolArguments`, `toolSequence`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Annotated, Final, Literal, NamedTuple, Self

from pydantic import Field, JsonValue, model_validator

from gateval.assertions.base import PASS_SCORE, MinScore, TraceAssertion
from gateval.assertions.evidence import CannotEvaluate, Evidence, ToolCalls
from gateval.assertions.matching import json_equal, matches, without
from gateval.domain.base import JsonObject, Spec
from gateval.domain.text import show_figure, show_threshold
from gateval.domain.trials.trace import Step
from gateval.domain.trials.trial import Assessment, Cause
from gateval.safe.legible import shorten

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


class ToolCalled(TraceAssertion):
    """The tool is called at least once.

    With `before`, its first call comes before the first call of each named tool that is called at
    all. With `after`, some call of it follows the first call of each named tool; a named tool that
    is never called fails. Both may be given; then both must hold. A refused call is none, except
    that asking for a tool of `before` too early fails all the same.
    """

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
        before = {name: calls.first_asked(name) for name in self.before}
        after = {name: calls.first(name) for name in self.after}
        others = [number for number in (*before.values(), *after.values()) if number]
        if not mine:
            return self.result(met=False, expected=expected, saw=str(calls), steps=others)
        broken = [
            f"`{name}` at step {number}, before the first `{self.tool}` at step {mine[0]}"
            for name, number in before.items()
            if number is not None and number < mine[0]
        ]
        for name, number in after.items():
            if number is None:
                broken.append(f"no call of `{name}`")
            elif number >= mine[-1]:
                broken.append(f"no `{self.tool}` after the first `{name}` at step {number}")
        return self.result(
            met=not broken,
            expected=expected,
            saw=" and ".join(broken) or f"`{self.tool}` at step {mine[0]}",
            steps=[mine[0], *([mine[-1]] if self.after else []), *others],
        )


class ToolNotCalled(TraceAssertion):
    """The tool is never called.

    With `before`, only calls ahead of the first call of each named tool are forbidden; if a named
    tool is never called, every call is. With `after`, only calls behind the first call of a named
    tool are forbidden; a named tool that is never called forbids nothing. Both may be given; then
    both must hold. Asking for a tool counts even if the call was refused. A claimed trace without
    a step is an error: it proves nothing. A tool that a declarative agent must not use stands among
    its `tools` with `enabled: false`; of a name that is not there, `validate` and plans warn.
    """

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
        forbidden = [
            step.number
            for step in calls.asked
            if step.tool == self.tool
            and (
                not (before or after)
                or any(border is None or step.number < border for border in before.values())
                or any(border is not None and step.number > border for border in after.values())
            )
        ]
        expected = f"no call of `{self.tool}`" + listed(before=self.before, after=self.after)
        known = [number for number in {**before, **after}.values() if number is not None]
        saw = f"it at step {', '.join(map(str, forbidden[:5]))}" if forbidden else "none"
        if len(forbidden) > 5:
            saw += f" and {len(forbidden) - 5} more times"
        steps = [*forbidden, *known]
        return self.result(met=not forbidden, expected=expected, saw=saw, steps=steps)


class ToolArguments(TraceAssertion):
    """The tool is called with these arguments.

    `mode: subset` lets a call have further arguments, at every level; `exact` does not. Lists must
    be equal in length either way; 1 equals 1.0 but not "1". `occurrence` says which calls must
    match: any of them, all, the first, or the last. A tool that is never called fails. Keys in
    `ignore` are left out on both sides; `address.zip` names a key inside `address`.
    """

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
        which = {"any": "a call of", "all": "all calls of"}.get(
            self.occurrence, f"the {self.occurrence} call of"
        )
        extent = "exactly " if self.mode == "exact" else ""
        expected = f"{extent}{which} `{self.tool}` with {_shown(self.arguments)}"
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


class ToolSequence(TraceAssertion):
    """The named tools are called in this order.

    Other calls may come before, between and after them: the list is a subsequence of the calls. A
    tool named twice must be called twice.
    """

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


Fits = Callable[[ExpectedCall, Step], bool]
Aligned = list[Step | None]
"""For each expected call the one that was made, or None."""


def _in_order(expected: Sequence[ExpectedCall], calls: Sequence[Step], fits: Fits) -> Aligned:
    """Find each after the one before it: the next call of its tool, which is used up either way."""
    found: Aligned = []
    start = 0
    for one in expected:
        at = next((i for i in range(start, len(calls)) if calls[i].tool == one.tool), None)
        found.append(None if at is None or not fits(one, calls[at]) else calls[at])
        start = start if at is None else at + 1
    return found


def _at_their_places(
    expected: Sequence[ExpectedCall], calls: Sequence[Step], fits: Fits
) -> Aligned:
    pairs = zip_longest(expected, calls[: len(expected)])
    return [call if call is not None and fits(one, call) else None for one, call in pairs]


def _anywhere(expected: Sequence[ExpectedCall], calls: Sequence[Step], fits: Fits) -> Aligned:
    """Find of each the first call that fits and was not taken by one before it."""
    left = list(calls)
    found: Aligned = []
    for one in expected:
        found.append(next((call for call in left if fits(one, call)), None))
        left = [call for call in left if call is not found[-1]]
    return found


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


_SHOWN = 5
_WAYS = {"inOrder": _in_order, "exact": _at_their_places, "superset": _anywhere}


class _Tally(NamedTuple):
    """What was looked at: how much of it is as it should be, what is not, and the calls it is."""

    hits: int
    total: int
    lacking: list[str]
    calls: list[Step]


class ToolTrajectory(TraceAssertion):
    """The share of what is expected of the tool calls is at least `minScore`.

    `anyOrder`: each tool of `minimums` is called at least so often. `inOrder`: the calls of
    `expected` are made one after the other, and others may stand between; the next call of that
    tool counts, and with other arguments it is used up and missed. `exact`: they are made position
    by position; further calls cost nothing. `superset`: each of them is made, in any order.
    `subset`: each call that is made is one of them. A refused call counts as none. `argumentsMatch`
    says how a call's arguments are compared with those expected: `superset`, it has all of them;
    `subset`, it has no others; `exact`; `ignore`; or a list of dotted paths that are compared.
    `maxSeconds` of a call that is made counts beside it; where nobody told how long it took, that
    is an error. So is a missing trace, not 0.
    """

    mode: Literal["anyOrder", "inOrder", "exact", "superset", "subset"] = Field(
        description="How the calls are compared."
    )
    minimums: dict[ToolName, Annotated[int, Field(ge=0)]] = Field(
        default={}, description="With `anyOrder`, the fewest calls of each tool."
    )
    expected: tuple[ExpectedCall, ...] = Field(
        default=(), max_length=500, description="With the other modes, the calls expected."
    )
    arguments_match: ArgumentsMatch = Field(
        default="superset", description="How arguments are compared."
    )
    min_score: MinScore = PASS_SCORE

    @model_validator(mode="after")
    def _fits_its_mode(self) -> Self:
        any_order = self.mode == "anyOrder"
        wanted, other = ("minimums", "expected") if any_order else ("expected", "minimums")
        if getattr(self, other):
            raise ValueError(f"`{other}` does not go with `mode: {self.mode}`; write `{wanted}`")
        if not getattr(self, wanted):
            raise ValueError(f"`mode: {self.mode}` needs `{wanted}`")
        return self

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the calls that are as they should be."""
        calls = evidence.tool_calls
        hits, total, lacking, found = self._tally(calls)
        score = hits / total if total else 1.0
        missed = [shorten(one, 80) for one in lacking[:_SHOWN]]
        least = show_threshold(self.min_score)
        return self.graded(
            score,
            least=self.min_score,
            expected=f"tool calls ({self.mode}) that score at least {least}",
            saw=f"{show_figure(score, self.min_score)} for {calls}"
            + (f"; not as expected: {', '.join(missed)}" if missed else ""),
            steps=[call.number for call in found],
        )

    def _tally(self, calls: ToolCalls) -> _Tally:
        if self.mode == "anyOrder":
            few = [tool for tool, least in self.minimums.items() if len(calls.of(tool)) < least]
            enough = [call for call in calls.steps if call.tool in self.minimums]
            return _Tally(len(self.minimums) - len(few), len(self.minimums), few, enough)
        if self.mode == "subset":
            mine = [
                one for one in calls.steps if any(self._fits(its, one) for its in self.expected)
            ]
            other = [call.tool or "" for call in calls.steps if call not in mine]
            return _Tally(len(mine), len(calls.steps), other, mine)
        aligned = _WAYS[self.mode](self.expected, calls.steps, self._fits)
        pairs = list(zip(self.expected, aligned, strict=True))
        lacking = [one.tool for one, call in pairs if call is None]
        found = [call for _, call in pairs if call is not None]
        timed = [
            (one.tool, _seconds(call) <= one.max_seconds)
            for one, call in pairs
            if call is not None and one.max_seconds is not None
        ]
        late = [f"{tool} in its time" for tool, in_time in timed if not in_time]
        hits = len(found) + len(timed) - len(late)
        return _Tally(hits, len(pairs) + len(timed), lacking + late, found)

    def _fits(self, one: ExpectedCall, call: Step) -> bool:
        how = self.arguments_match if one.arguments_match is None else one.arguments_match
        return call.tool == one.tool and arguments_fit(one.arguments, call.arguments, how)


def _seconds(call: Step) -> float:
    if call.took is None:
        raise CannotEvaluate(
            Cause.GATE,
            f"nobody told how long the call of `{shorten(call.tool or '', 60)}` took; the "
            "candidate may print `seconds` with the tool calls of its trace",
        )
    return call.took


_SKILL_TOOLS = frozenset({"skill", "activate_skill", "use_skill"})
_SKILL_KEYS = ("skill", "name", "skill_name", "command")
_READ_TOOLS = frozenset({"read", "read_file", "view", "open", "cat"})


class SkillTrigger(TraceAssertion):
    """The agent takes up this skill, or with `shouldTrigger: false` does not.

    It does by a call of a tool named `Skill` (or `use_skill`, `activate_skill`) with that name, or
    by reading a file below a folder of that name in a folder `skills`.
    """

    skill: str = Field(min_length=1, max_length=200, description="The skill's name.")
    should_trigger: bool = Field(default=True, description="Whether it is to be taken up.")

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the calls that take it up."""
        if not self.should_trigger:
            evidence.refuse_empty_claim()
        calls = evidence.tool_calls
        looked_at = calls.steps if self.should_trigger else calls.asked
        taken = [call for call in looked_at if self._takes_up(call)]
        wish = "to be taken up" if self.should_trigger else "not to be taken up"
        return self.result(
            met=bool(taken) is self.should_trigger,
            expected=f"the skill `{self.skill}` {wish}",
            saw=str(calls),
            steps=[call.number for call in taken],
        )

    def _takes_up(self, call: Step) -> bool:
        tool, arguments = (call.tool or "").lower(), call.arguments or {}
        if tool in _SKILL_TOOLS:
            given = [arguments.get(key) for key in _SKILL_KEYS]
            return any(isinstance(one, str) and one.strip("/ ") == self.skill for one in given)
        if tool not in _READ_TOOLS:
            return False
        paths = [value for value in arguments.values() if isinstance(value, str)]
        return any(f"skills/{self.skill}/" in path.replace("\\", "/") for path in paths)
