"""Puts the answers of a conversation's turns together: one trace, its steps numbered through."""

from __future__ import annotations

import re

from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.trials.trace import (
    STEP_LIMIT,
    STEPS_LIMIT,
    Step,
    StepKind,
    Trace,
    TraceSource,
    add_usage,
)
from gateval.domain.trials.transcript import numbered_steps
from gateval.domain.trials.trial import Answer, AnsweredTurn

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
            )
        )
        self._traces.append(trace)
        self._sources.append(source)

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
            turns=tuple(self._turns),
        )

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
