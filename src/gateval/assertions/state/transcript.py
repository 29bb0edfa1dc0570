"""Finds texts in the steps of a trial, by who says them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from gateval.assertions.evidence import Evidence, NotMeasured
from gateval.domain.base import canonical_json
from gateval.domain.trials.trace import STEPS_LIMIT, Step, StepKind
from gateval.domain.trials.trial import Cause

Speaker = Literal["any", "user", "assistant", "tool"]

_KINDS = {
    "user": {StepKind.USER},
    "assistant": {StepKind.ASSISTANT},
    "tool": {StepKind.TOOL_CALL, StepKind.TOOL_RESULT},
    "any": {*StepKind} - {StepKind.ERROR},
}


def said_by(evidence: Evidence, speaker: Speaker) -> tuple[Step, ...]:
    """Return the steps of a speaker. Raises `NotMeasured` where steps are missing.

    Without a trace there are the input and the final message, which say nothing of tools.
    """
    recorded = evidence.answer.recorded
    if recorded is None and speaker in {"any", "tool"} and not evidence.answer.turns:
        message = "nobody recorded the steps of this trial; look at `user` or `assistant`"
        raise NotMeasured(Cause.GATE, message)
    steps = evidence.transcript.steps
    if len(steps) >= STEPS_LIMIT or any(one.truncated for one in steps):
        raise NotMeasured(Cause.GATE, "the transcript was cut, so some of it is unknown")
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
