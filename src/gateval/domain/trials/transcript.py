"""The numbered steps of a trial: the one numbering that judge, assessments and reports share."""

from __future__ import annotations

from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.trials.trace import STEP_LIMIT, Step, StepKind, Trace
from gateval.domain.trials.trial import Answer


def numbered_steps(fixture_input: FixtureInput, answer: Answer) -> Trace:
    """Return the trace that evidence refers to, ending with what the candidate finally said.

    A recorded trace keeps its numbers; the final message is appended if the last assistant step
    is not already that message. Without a trace there are two steps, the input and the final
    message, and `source` is `answer`. Store this as the trial's trace, so that a step number in
    an assessment means the same step in every report.
    """
    if answer.trace is None:
        user = Step(
            number=1,
            kind=StepKind.USER,
            text=fixture_input.prompt[:STEP_LIMIT],
            truncated=len(fixture_input.prompt) > STEP_LIMIT,
        )
        return Trace(steps=(user, _final(2, answer.output)), source="answer", usage=answer.usage)
    trace = answer.trace
    last = final_step(trace)
    if last is not None and last.text.strip() == answer.output[:STEP_LIMIT].strip():
        return trace
    said = _final(len(trace.steps) + 1, answer.output)
    return trace.model_copy(update={"steps": (*trace.steps, said)})


def final_step(trace: Trace) -> Step | None:
    """The last assistant step: in a transcript of `numbered_steps`, the final message."""
    for step in reversed(trace.steps):
        if step.kind is StepKind.ASSISTANT:
            return step
    return None


def _final(number: int, output: str) -> Step:
    return Step(
        number=number,
        kind=StepKind.ASSISTANT,
        text=output[:STEP_LIMIT],
        truncated=len(output) > STEP_LIMIT,
    )
