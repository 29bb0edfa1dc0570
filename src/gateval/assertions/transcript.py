"""Assertions on the steps of a trial: `transcriptContains`, `transcriptForbids`, `wireCall`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gateval.assertions.base import TraceAssertion
from gateval.assertions.evidence import CannotEvaluate, Evidence
from gateval.assertions.matching import matches, quoted
from gateval.assertions.text import holds
from gateval.assertions.tools import ToolName
from gateval.domain.base import JsonObject, canonical_json
from gateval.domain.trials.trace import STEPS_LIMIT, Step, StepKind
from gateval.domain.trials.trial import Assessment, Cause
from gateval.safe.legible import shorten

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


def _first_with(
    phrases: Iterable[str], steps: Sequence[Step], *, ignore_case: bool
) -> dict[str, int]:
    """Return of each phrase that is said the number of the first step that says it; a tool call
    says the tool and its arguments.
    """
    said = [
        (one.number, one.text)
        if one.kind is not StepKind.TOOL_CALL
        else (one.number, f"{one.tool} {canonical_json(one.arguments or {})}")
        for one in steps
    ]
    found = {
        phrase: next((at for at, text in said if holds(text, phrase, ignore_case=ignore_case)), 0)
        for phrase in phrases
    }
    return {phrase: number for phrase, number in found.items() if number}


Phrase = Annotated[str, Field(min_length=1, max_length=2000)]


class TranscriptContains(TraceAssertion):
    """All of these phrases are said, each anywhere in the transcript.

    In a turn's assertions, in that turn. Where steps are missing, it is an error.
    """

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
        found = _first_with(self.phrases, steps, ignore_case=self.ignore_case)
        lacking = [one for one in self.phrases if one not in found]
        told = [f"{quoted(one)} at step {number}" for one, number in found.items()]
        told += [f"{quoted(one)} nowhere" for one in lacking]
        said = ", ".join(map(quoted, self.phrases))
        return self.result(
            met=not lacking,
            expected=f"{said} to be said by {_whom(self.speaker)}",
            saw=", ".join(told),
            steps=[*found.values()],
        )


def _whom(speaker: Speaker) -> str:
    return "anybody" if speaker == "any" else f"the {speaker}"


class TranscriptForbids(TraceAssertion):
    """None of these phrases is said anywhere in the transcript.

    In a turn's assertions, in that turn. Where steps are missing, it is an error.
    """

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
        found = _first_with(self.phrases, steps, ignore_case=self.ignore_case)
        told = [f"{quoted(one)} at step {number}" for one, number in found.items()]
        said = ", ".join(map(quoted, self.phrases))
        return self.result(
            met=not found,
            expected=f"none of {said} said by {_whom(self.speaker)}",
            saw=", ".join(told) or "none of them",
            steps=[*found.values()] or evidence.final,
        )


class WireCall(TraceAssertion):
    """A tool is called, and the gate saw it on the wire between the candidate and its models.

    What a candidate says of itself is no proof here: where there is only its word, it is an error.
    Calls that were refused do not count. Of a candidate that calls tools of the gate and no model
    through it, `atMost` is an error: it may have called others.
    """

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
        calls, trace = evidence.tool_calls, evidence.answer.recorded
        partly = trace is not None and trace.is_partly_seen and self.at_most is not None
        if trace is None or not trace.is_seen or partly:
            raise CannotEvaluate(
                Cause.GATE,
                "the gate did not see all calls itself, and the candidate's word is no proof; let "
                "it call models through the gateway",
            )
        mine = calls.of(self.tool)
        counted = mine
        if self.arguments or self.mode == "exact":
            subset = self.mode == "subset"
            given = [(one, one.arguments) for one in mine if one.arguments is not None]
            counted = tuple(
                one for one, its in given if matches(self.arguments, its, subset=subset)
            )
        many, least, most = len(counted), self.at_least, self.at_most
        asked = f"at least {least}" if most is None else f"{least}" if most == least else ""
        shown = shorten(json.dumps(self.arguments, ensure_ascii=False)) if self.arguments else ""
        return self.result(
            met=least <= many and (most is None or many <= most),
            expected=f"{asked or f'{least} to {most}'} calls of `{self.tool}`"
            + (f" with {shown}" if shown else ""),
            saw=f"{many} among {calls}",
            steps=[one.number for one in counted or mine],
        )
