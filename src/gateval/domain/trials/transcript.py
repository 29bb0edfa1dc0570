"""The numbered steps of a trial: the one numbering that judge, assessments and reports share.

The answers of a conversation's turns make one trace, its steps numbered through.
"""

from __future__ import annotations

import re

from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.trials.calls import CallsMade, add_calls
from gateval.domain.trials.trace import (
    STEP_LIMIT,
    STEPS_LIMIT,
    Step,
    StepKind,
    Trace,
    TraceSource,
    add_usage,
    whole_sum,
)
from gateval.domain.trials.trial import Answer, AnsweredTurn, Claimed


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
    said = (step for step in reversed(trace.steps) if step.kind is StepKind.ASSISTANT)
    return next(said, None)


def _final(number: int, output: str) -> Step:
    return Step(
        number=number,
        kind=StepKind.ASSISTANT,
        text=output[:STEP_LIMIT],
        truncated=len(output) > STEP_LIMIT,
    )


_FILE = re.compile(r"\[(?:image|audio|video|document|file)(?: [^\]]*)?\]")

_SOURCES = ("answer", "candidate", "gateway", "gate")
"""Who may have recorded a trace, the weakest evidence first."""


class Turns:
    """The turns that were answered so far. Does no I/O."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._turns: list[AnsweredTurn] = []
        self._traces: list[Trace] = []
        self._sources: list[TraceSource] = []
        self._claims: list[Claimed] = []

    def add(self, asked: FixtureInput, answer: Answer) -> None:
        """Take the answer to `asked`, what the user said in this turn being its prompt."""
        trace = numbered_steps(asked, answer)
        source = trace.source if answer.trace and answer.trace.steps else "answer"
        first = len(self._steps) + 1
        self._append(_of_this_turn(trace, asked.prompt))
        self._turns.append(
            AnsweredTurn(
                output=answer.output,
                first=first,
                last=len(self._steps),
                source=source,
                usage=answer.usage,
                seconds=answer.seconds,
                waited=trace.waited,
                calls=answer.calls,
            )
        )
        self._traces.append(trace)
        self._sources.append(source)
        self._claims.append(answer.claimed)

    def trace(self, unfinished: Trace | None = None) -> Trace:
        """Return all steps; `unfinished` is what was seen of a turn without an answer."""
        if unfinished is not None:
            self._append(unfinished.steps)
            self._traces.append(unfinished)
            self._sources.append(unfinished.source)
        return Trace(
            steps=tuple(self._steps[:STEPS_LIMIT]),
            source=min(self._sources, key=_SOURCES.index, default="answer"),
            usage=add_usage(one.usage for one in self._traces),
            model_calls=sum(one.model_calls for one in self._traces),
            models=tuple(dict.fromkeys(name for one in self._traces for name in one.models)),
            waited=round(sum(one.waited for one in self._traces), 3),
        )

    def answer(self) -> Answer:
        """Return the answer of the whole conversation, which has had a turn."""
        return Answer(
            output=self._turns[-1].output,
            trace=self.trace(),
            usage=add_usage(one.usage for one in self._turns),
            seconds=sum(one.seconds for one in self._turns),
            claimed=Claimed(
                seconds=whole_sum([one.seconds for one in self._claims]),
                model_calls=whole_sum([one.model_calls for one in self._claims]),
            ),
            turns=tuple(self._turns),
            calls=self.calls(),
        )

    def calls(self, unfinished: CallsMade | None = None) -> CallsMade | None:
        """Return what became of the model calls of all turns; `unfinished` are those of a turn
        without an answer.
        """
        return add_calls([*(one.calls for one in self._turns), unfinished])

    def _append(self, steps: tuple[Step, ...]) -> None:
        for step in steps:
            self._steps.append(step.model_copy(update={"number": len(self._steps) + 1}))


def _of_this_turn(trace: Trace, said: str) -> tuple[Step, ...]:
    """Return the steps from what the user said in this turn; what comes before is history.

    A claimed trace may leave out what the user said: it stands first then.
    """
    text = said[:STEP_LIMIT]
    starts = [
        index
        for index, step in enumerate(trace.steps)
        if step.kind is StepKind.USER and _alike(step.text) == _alike(text)
    ]
    if starts:
        return trace.steps[starts[-1] :]
    user = Step(number=1, kind=StepKind.USER, text=text, truncated=len(said) > STEP_LIMIT)
    return (user, *trace.steps)


def _alike(said: str) -> str:
    """Return a text in which what stands for a file is the same whoever recorded it."""
    return _FILE.sub("[file]", said).strip()
