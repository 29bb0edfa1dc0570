"""Assertions on the steps of a trial: `transcriptContains`, `transcriptForbids`, `wireCall`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Basis, CannotEvaluate, Evidence
from gateval.assertions.matching import matches, quoted
from gateval.assertions.tools import ToolName
from gateval.domain.base import JsonObject, canonical_json
from gateval.domain.trials.trace import STEPS_LIMIT, Step, StepKind
from gateval.domain.trials.trial import Assessment, Cause
from gateval.judging.prompt import shorten

Speaker = Literal["any", "user", "assistant", "tool"]

_KINDS = {
    "user": {StepKind.USER},
    "assistant": {StepKind.ASSISTANT},
    "tool": {StepKind.TOOL_CALL, StepKind.TOOL_RESULT},
    "any": {*StepKind} - {StepKind.ERROR},
}


def said_by(evidence: Evidence, speaker: Speaker) -> tuple[Step, ...]:
    """Return the steps of a speaker. Raises `CannotEvaluate` where steps are missing.

    Without a trace there are the input and the final message, which say nothing of tools.
    """
    recorded = evidence.answer.recorded
    if recorded is None and speaker in {"any", "tool"} and not evidence.answer.turns:
        message = "nobody recorded the steps of this trial; look at `user` or `assistant`"
        raise CannotEvaluate(Cause.GATE, message)
    steps = evidence.transcript.steps
    if len(steps) >= STEPS_LIMIT or any(one.truncated for one in steps):
        raise CannotEvaluate(Cause.GATE, "the transcript was cut, so some of it is unknown")
    return tuple(one for one in steps if one.kind in _KINDS[speaker])


def text_of(step: Step) -> str:
    """Return what a step says; of a tool call, the tool and its arguments."""
    if step.kind is not StepKind.TOOL_CALL:
        return step.text
    return f"{step.tool} {canonical_json(step.arguments or {})}"


def first_with(steps: Iterable[Step], text: str, *, ignore_case: bool) -> int | None:
    """Return the number of the first step that says a text, or None."""
    for step in steps:
        said = text_of(step)
        if text.casefold() in said.casefold() if ignore_case else text in said:
            return step.number
    return None


Phrase = Annotated[str, Field(min_length=1, max_length=2000)]


class TranscriptContains(Assertion):
    """All of these phrases are said, each anywhere in the transcript.

    In a turn's assertions, in that turn. Where steps are missing, it is an error.
    """

    type: ClassVar[str] = "transcriptContains"
    basis: ClassVar[Basis] = Basis.TRACE

    phrases: tuple[Phrase, ...] = Field(
        min_length=1, max_length=100, description="The texts to find, letter by letter."
    )
    speaker: Speaker = Field(
        default="assistant", description="Whose steps are looked at; of tools, calls and results."
    )
    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the steps that say them."""
        steps = said_by(evidence, self.speaker)
        found = {one: first_with(steps, one, ignore_case=self.ignore_case) for one in self.phrases}
        lacking = [one for one, number in found.items() if number is None]
        said = ", ".join(map(quoted, self.phrases))
        told = [f"{quoted(one)} at step {number}" for one, number in found.items() if number]
        told += [f"{quoted(one)} nowhere" for one in lacking]
        return self.result(
            met=not lacking,
            expected=f"{said} to be said by {whom(self.speaker)}",
            saw=", ".join(told),
            steps=[number for number in found.values() if number is not None],
        )


def whom(speaker: Speaker) -> str:
    """Return the speaker for a sentence."""
    return "anybody" if speaker == "any" else f"the {speaker}"


class TranscriptForbids(Assertion):
    """None of these phrases is said anywhere in the transcript.

    In a turn's assertions, in that turn. Where steps are missing, it is an error.
    """

    type: ClassVar[str] = "transcriptForbids"
    basis: ClassVar[Basis] = Basis.TRACE

    phrases: tuple[Phrase, ...] = Field(
        min_length=1, max_length=100, description="The texts that must not be said."
    )
    speaker: Speaker = Field(
        default="assistant", description="Whose steps are looked at; of tools, calls and results."
    )
    ignore_case: bool = Field(default=True, description="Whether upper and lower case are alike.")

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the steps that say them."""
        evidence.refuse_empty_claim()
        steps = said_by(evidence, self.speaker)
        found = {
            one: number
            for one in self.phrases
            if (number := first_with(steps, one, ignore_case=self.ignore_case)) is not None
        }
        told = [f"{quoted(one)} at step {number}" for one, number in found.items()]
        return self.result(
            met=not found,
            expected=f"none of {', '.join(map(quoted, self.phrases))} said by {whom(self.speaker)}",
            saw=", ".join(told) or "none of them",
            steps=[*found.values()] or evidence.final,
        )


class WireCall(Assertion):
    """A tool is called, and the gate saw it on the wire between the candidate and its models.

    What a candidate says of itself is no proof here: where there is only its word, it is an error.
    Calls that were refused do not count. Of a candidate that calls tools of the gate and no model
    through it, `atMost` is an error: it may have called others.
    """

    type: ClassVar[str] = "wireCall"
    basis: ClassVar[Basis] = Basis.TRACE

    tool: ToolName = Field(description="The tool whose calls are counted.")
    arguments: JsonObject = Field(
        default={}, description="What a call has to hold to count; others do not matter."
    )
    mode: Literal["subset", "exact"] = Field(
        default="subset", description="Whether a call may have further arguments."
    )
    at_least: int = Field(default=1, ge=0, le=2000, description="How many calls there must be.")
    at_most: int | None = Field(
        default=None, ge=0, le=2000, description="How many there may be; any number if absent."
    )

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        if self.at_most is not None and self.at_most < self.at_least:
            raise ValueError("`atMost` is below `atLeast`, so that nothing could pass")
        return self

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the calls that count, else on all of the tool."""
        calls = evidence.tool_calls
        trace = evidence.answer.recorded
        if (
            trace is None
            or not trace.is_seen
            or (trace.is_partly_seen and self.at_most is not None)
        ):
            raise CannotEvaluate(
                Cause.GATE,
                "the gate did not see all calls itself, and the candidate's word is no proof; let "
                "it call models through the gateway",
            )
        mine = calls.of(self.tool)
        counted = (
            [
                one
                for one in mine
                if one.arguments is not None
                and matches(self.arguments, one.arguments, subset=self.mode == "subset")
            ]
            if self.arguments or self.mode == "exact"
            else [*mine]
        )
        most = float("inf") if self.at_most is None else self.at_most
        shown = shorten(json.dumps(self.arguments, ensure_ascii=False)) if self.arguments else ""
        asked = f"at least {self.at_least}" if self.at_most is None else self._between()
        return self.result(
            met=self.at_least <= len(counted) <= most,
            expected=f"{asked} calls of `{self.tool}`{f' with {shown}' if shown else ''}",
            saw=f"{len(counted)} among {calls}",
            steps=[one.number for one in counted or mine],
        )

    def _between(self) -> str:
        if self.at_least == self.at_most:
            return f"{self.at_least}"
        return f"{self.at_least} to {self.at_most}"
