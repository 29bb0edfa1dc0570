"""`toolUsage`: the expected tools were called with the expected arguments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

from pydantic import Field, JsonValue

from gateval.assertions.evidence import Basis, Evidence
from gateval.assertions.matching.json_match import matches
from gateval.assertions.scorers.base import Scorer
from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixtures.reference import Reference
from gateval.domain.text.strict_json import NotStrictJson, read_json
from gateval.domain.trials.trace import Step
from gateval.domain.trials.trial import Assessment
from gateval.judging.neutral import shorten

_ARGUMENTS = ("arguments", "args", "input", "parameters")

CALLS_LIMIT = 200
"""Calls that one case may expect."""


class ReferenceCall(NamedTuple):
    """A call that is expected; with `arguments` None, with any."""

    tool: str
    arguments: JsonObject | None


class ToolUsage(Scorer):
    """The share of the expected calls that the agent made, each counted once, in any order.

    The expected answer is a call or a list of calls: `{tool, arguments}`, `{name, arguments}` (also
    `args`, `input` or `parameters`), a `function` of the OpenAI form, or the name alone. An empty
    list expects that there is none. With `others: counted`, calls that nobody expects count
    against it: the calls that fit, over the expected or the made ones, whichever are more.
    """

    type: ClassVar[str] = "toolUsage"
    basis: ClassVar[Basis] = Basis.TRACE

    mode: Literal["subset", "exact"] = Field(
        default="subset", description="Whether a call may have further arguments."
    )
    others: Literal["ignored", "counted"] = Field(
        default="ignored", description="Whether calls beside the expected ones count against it."
    )

    def wants(self, reference: Reference) -> str:
        """See `Scorer`. The expected answer has to be calls."""
        lack = super().wants(reference)
        if lack or calls_of(reference.wanted) is not None:
            return lack
        return (
            f"`{self.type}` compares with calls: write the expected answer as "
            f"{{tool: NAME, arguments: {{…}}}}, or a list of at most {CALLS_LIMIT} such."
        )

    def score(self, expected: JsonValue, evidence: Evidence) -> Assessment:
        """See the class. Rests on the calls that fit, else on all."""
        wanted, made = calls_of(expected) or [], evidence.tool_calls
        if not wanted or self.others == "counted":
            evidence.refuse_empty_claim()
        fitting = self._fitting(wanted, made.steps)
        of = max(len(wanted), len(made.steps)) if self.others == "counted" else len(wanted)
        share = len(fitting) / of if of else 1.0
        if not wanted and made.steps:
            share = 0.0
        names = ", ".join(_shown(one) for one in wanted[:5]) or "no call"
        return self.graded(
            share,
            least=self.min_score,
            expected=names,
            saw=f"{len(fitting)} of {len(wanted)} in {made}",
            steps=[step.number for step in fitting or made.steps],
        )

    def _fitting(self, wanted: Sequence[ReferenceCall], made: Sequence[Step]) -> list[Step]:
        """Return a call for each expected one that has one; those with most arguments choose first,
        and a call that several could take goes to the one that fewest others fit.
        """
        fits = [[step for step in made if self._fits(call, step)] for call in wanted]
        return matching(fits)

    def _fits(self, call: ReferenceCall, step: Step) -> bool:
        if step.tool != call.tool:
            return False
        if call.arguments is None:
            return True
        return step.arguments is not None and matches(
            call.arguments, step.arguments, subset=self.mode == "subset"
        )


def matching(fits: Sequence[Sequence[Step]]) -> list[Step]:
    """Return the steps of a largest pairing, each step once (Kuhn's augmenting paths)."""
    owner: dict[int, int] = {}
    steps = {step.number: step for each in fits for step in each}

    def placed(index: int, tried: set[int]) -> bool:
        for step in fits[index]:
            if step.number in tried:
                continue
            tried.add(step.number)
            if step.number not in owner or placed(owner[step.number], tried):
                owner[step.number] = index
                return True
        return False

    for index in range(len(fits)):
        placed(index, set())
    return [steps[number] for number in sorted(owner)]


def calls_of(expected: JsonValue) -> list[ReferenceCall] | None:
    """Return the calls that a value says, or None if it says something else."""
    value = _parsed(expected)
    listed = value if isinstance(value, list) else [value]
    if len(listed) > CALLS_LIMIT:
        return None
    calls = [_call(one) for one in listed]
    return None if None in calls else [one for one in calls if one is not None]


def _call(value: JsonValue) -> ReferenceCall | None:
    if isinstance(value, str):
        return ReferenceCall(value, None) if value.strip() else None
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    if isinstance(inner, dict):
        value = inner
    name = value.get("tool", value.get("name"))
    given = next((value[key] for key in _ARGUMENTS if key in value), None)
    arguments = _parsed(given)
    if not isinstance(name, str) or not (arguments is None or isinstance(arguments, dict)):
        return None
    return ReferenceCall(name, arguments)


def _parsed(value: JsonValue) -> JsonValue:
    """Read text that is JSON, as a column of CSV or OpenAI's arguments are."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            return read_json(value)
        except NotStrictJson:
            return value
    return value


def _shown(call: ReferenceCall) -> str:
    if call.arguments is None:
        return f"a call of `{shorten(call.tool, 60)}`"
    return f"`{shorten(call.tool, 60)}` with {shorten(json.dumps(call.arguments))}"
