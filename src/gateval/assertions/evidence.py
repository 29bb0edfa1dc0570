"""The sole input of an assertion: what the trial gave, and how to look at it."""

from __future__ import annotations

from enum import StrEnum

from gateval.domain.base import Value
from gateval.domain.manifests.fixture import FixtureInput, Reference
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import STEPS_LIMIT, Step, Trace
from gateval.domain.trials.trial import Answer, Cause, final_step, numbered_steps
from gateval.safe.legible import shorten

_CALLS_SHOWN = 12


class Basis(StrEnum):
    """The part of a trial that an assertion looks at: answer and time, the steps, or the tokens."""

    ANSWER = "answer"
    TRACE = "trace"
    USAGE = "usage"


class CannotEvaluate(Exception):
    """An assertion cannot be evaluated: whose fault that is, and a sentence on what to do."""

    def __init__(self, cause: Cause, message: str) -> None:
        super().__init__(message)
        self.cause = cause
        self.message = message


class ToolCalls:
    """The tool calls of a trial, in order.

    `refused` are those that nobody carried out. They satisfy nothing; where a call is forbidden,
    asking for it counts, so that `asked` holds all of them.
    """

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self.asked = steps
        self.steps = tuple(step for step in steps if not step.refused)
        self.refused = tuple(step for step in steps if step.refused)

    def of(self, tool: str) -> tuple[Step, ...]:
        """The calls of this tool, in order."""
        return tuple(step for step in self.steps if step.tool == tool)

    def first(self, tool: str) -> int | None:
        """The number of the step that calls this tool first, or None."""
        return next((step.number for step in self.steps if step.tool == tool), None)

    def first_asked(self, tool: str) -> int | None:
        """The number of the step that first asks for this tool, refused or not, or None."""
        return next((step.number for step in self.asked if step.tool == tool), None)

    def __str__(self) -> str:
        refused = f" ({len(self.refused):,} refused)" if self.refused else ""
        if not self.steps:
            return f"no tool calls{refused}"
        names = [shorten(step.tool or "", 60) for step in self.steps[:_CALLS_SHOWN]]
        more = len(self.steps) - len(names)
        return "the calls " + " → ".join(names) + (f" and {more} more" if more else "") + refused


_NO_REFERENCE = Reference()


class Evidence(Value):
    """The evidence of a trial. `transcript` has the step numbers that assessments refer to.

    `about` says in a sentence which part of it a judge is asked about, empty for all of it; `whole`
    is what it is a part of.
    """

    input: FixtureInput
    answer: Answer
    transcript: Trace
    reference: Reference = Reference()
    about: str = ""
    whole: Evidence | None = None

    @classmethod
    def of(
        cls, fixture_input: FixtureInput, answer: Answer, reference: Reference | None = None
    ) -> Evidence:
        """The evidence of a trial that answered, with what its case says of a good answer."""
        return cls.of_known(
            input=fixture_input,
            answer=answer,
            transcript=numbered_steps(fixture_input, answer),
            reference=reference or _NO_REFERENCE,
        )

    @property
    def for_a_judge(self) -> Evidence:
        """The evidence of the whole conversation, and a sentence on the turn it is about."""
        return self.whole.replace(about=self.about) if self.whole else self

    def of_turn(self, number: int) -> Evidence:
        """The evidence of one turn (from 1): its answer, its steps with the numbers they have.

        Raises `CannotEvaluate` where the conversation has no such turn.
        """
        if number > len(self.answer.turns):
            raise CannotEvaluate(Cause.GATE, f"the conversation had no turn {number}")
        turn = self.answer.turns[number - 1]
        steps = self.transcript.steps[turn.first - 1 : turn.last]
        trace = Trace(steps=steps, source=turn.source, usage=turn.usage, waited=turn.waited)
        answer = Answer(output=turn.output, trace=trace, usage=turn.usage, seconds=turn.seconds)
        about = f"This is about turn {number} alone, the steps {turn.first} to {turn.last}."
        part = {"answer": answer, "transcript": trace, "about": about, "whole": self}
        return self.replace(**part)

    @property
    def tool_calls(self) -> ToolCalls:
        """The tool calls. Raises `CannotEvaluate` without a whole trace: unseen is not absent."""
        trace = self.answer.recorded
        if trace is None:
            why = "this candidate gave no trace, so its tool calls are unknown; let it call models "
            raise CannotEvaluate(Cause.GATE, f"{why}through the gateway or print `trace`")
        if len(trace.steps) >= STEPS_LIMIT:
            why = f"the trace was cut at {STEPS_LIMIT:,} steps, so some tool calls are unknown; "
            raise CannotEvaluate(Cause.GATE, f"{why}let the agent finish in fewer steps")
        return ToolCalls(trace.tool_calls())

    @property
    def _seen(self) -> Trace | None:
        """The trace, if the gate saw the model calls itself."""
        trace = self.answer.recorded
        return trace if trace and trace.is_seen else None

    @property
    def tokens(self) -> tuple[int | None, bool]:
        """The tokens of all model calls, None if unknown, and whether the gate counted them."""
        return self.usage.total, bool(self._seen and self._seen.usage.total is not None)

    @property
    def usage(self) -> Usage:
        """The tokens of all model calls by kind, as the gate counted them or the candidate says."""
        counted = self.answer.recorded.usage if self.answer.recorded else Usage()
        if (self._seen and counted.total is not None) or self.answer.usage.total is None:
            return counted
        return self.answer.usage

    @property
    def money(self) -> tuple[float | None, tuple[str, ...]]:
        """The US dollars of all model calls, as the gate saw them or else the candidate reports,
        None if unknown; and the models that have no price.
        """
        usage = self._seen.usage if self._seen else self.answer.usage
        return usage.usd, usage.unpriced

    @property
    def is_money_claimed(self) -> bool:
        """Whether only the candidate can tell what its model calls cost."""
        return self._seen is None

    @property
    def own_seconds(self) -> float:
        """The seconds that the answer took, without waits for a provider; more, where the candidate
        itself reports more.
        """
        return max(self._seen_seconds, self.answer.claimed.seconds or 0.0)

    @property
    def is_time_claimed(self) -> bool:
        """Whether the candidate reports a longer time than the gate saw."""
        return self.own_seconds > self._seen_seconds

    @property
    def _seen_seconds(self) -> float:
        trace = self.answer.recorded
        return max(self.answer.seconds - (trace.waited if trace else 0.0), 0.0)

    @property
    def model_calls(self) -> tuple[int | None, bool]:
        """The number of model calls, None if unknown, and whether the gate counted them."""
        if self._seen and not self._seen.is_partly_seen:
            return self._seen.model_calls, True
        return self.answer.claimed.model_calls, False

    def is_claimed(self, basis: Basis) -> bool:
        """Whether there is only the candidate's word for what an assertion looks at.

        Calls that reached the gate's tools do not tell of those that went elsewhere.
        """
        if basis is Basis.TRACE:
            trace = self.answer.recorded
            return trace is not None and (not trace.is_seen or trace.is_partly_seen)
        return basis is Basis.USAGE and not self.tokens[1]

    def refuse_empty_claim(self) -> None:
        """Raise `CannotEvaluate` for a claimed trace without a step, which proves no absence."""
        if self.is_claimed(Basis.TRACE) and not (self.answer.trace and self.answer.trace.steps):
            why = "the candidate claims a trace without a single step, which proves nothing; let "
            how = "it call models through the gateway or print the steps it took"
            raise CannotEvaluate(Cause.GATE, why + how)

    @property
    def with_refused_calls(self) -> Evidence:
        """The same, with each refused tool call as one that was made."""
        trace = self.answer.trace
        if trace is None:
            return self
        steps = tuple(step.replace(refused=False) for step in trace.steps)
        seen = self.answer.replace(trace=trace.replace(steps=steps))
        return self.replace(answer=seen)

    @property
    def final(self) -> tuple[int, ...]:
        """The number of the step with the final message, as the steps of an assessment."""
        step = final_step(self.transcript)
        return (step.number,) if step else ()
