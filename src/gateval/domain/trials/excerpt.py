"""The part of a trial that says most: the steps that failed assertions rest on, a line each."""

from __future__ import annotations

from collections.abc import Iterable

from gateval.domain.base import canonical_json
from gateval.domain.trials.trace import Step, StepKind, Trace
from gateval.domain.trials.trial import Assessment, Trial

STEPS_SHOWN = 10
STEP_WIDTH = 240
"""Characters shown of one step."""

KINDS = {
    StepKind.USER: "user",
    StepKind.ASSISTANT: "agent",
    StepKind.TOOL_CALL: "tool call",
    StepKind.TOOL_RESULT: "tool result",
    StepKind.ERROR: "error",
}


def blamed_steps(assessments: Iterable[Assessment]) -> tuple[int, ...]:
    """Return the numbers of the steps that these assessments rest on, ascending."""
    numbers: set[int] = set()
    for assessment in assessments:
        numbers.update(assessment.steps)
        if assessment.verdict is not None:
            numbers.update(v.evidence_step for v in assessment.verdict.violations if v.supported)
    return tuple(sorted(numbers))


def excerpt(trace: Trace, blamed: tuple[int, ...]) -> str:
    """Return the blamed steps, marked with `>`, with their neighbours; else the last steps.

    Where there were several agents, `[refunds]` says whose step it is, or `[2]` that it belongs to
    the second conversation where nobody told a name.
    """
    near = {number + offset for number in blamed for offset in (-1, 0, 1)}
    chosen = [step for step in trace.steps if step.number in near][:STEPS_SHOWN]
    chosen, parallel = chosen or [*trace.steps[-STEPS_SHOWN:]], trace.is_parallel
    lines = []
    previous = 0
    for step in chosen:
        if step.number > previous + 1:
            lines.append("   ...")
        mark = ">" if step.number in blamed else " "
        which = f"[{step.agent or step.conversation}]  " if parallel else ""
        kind = KINDS[step.kind]
        lines.append(f"{mark} {step.number:>2}  {which}{kind:<11}  {describe(step)}")
        previous = step.number
    if previous < len(trace.steps):
        lines.append("   ...")
    return "\n".join(lines)


def describe(step: Step) -> str:
    """Return what a step says on one line, cut at `STEP_WIDTH`."""
    if step.kind is StepKind.TOOL_CALL:
        refused = " (refused)" if step.refused else ""
        text = f"{step.tool or '?'}{refused} {canonical_json(step.arguments or {})}"
    elif step.kind is StepKind.TOOL_RESULT and step.tool:
        text = f"{step.tool}: {step.text}"
    else:
        text = step.text
    folded = " ".join(text.split())
    if len(folded) > STEP_WIDTH:
        return f"{folded[:STEP_WIDTH]}\N{HORIZONTAL ELLIPSIS}"
    return folded


def trial_excerpt(trial: Trial | None, assessments: Iterable[Assessment] = ()) -> str:
    """Return the excerpt of a trial's trace, or its final message when there is no trace."""
    if trial is None:
        return ""
    if trial.trace is not None and trial.trace.steps:
        return excerpt(trial.trace, blamed_steps(assessments))
    return trial.output or ""
