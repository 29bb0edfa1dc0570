"""`codeJudge`: a program written for AgentV scores the trial; what it is told, and how it is
read.

Newer words stand beside older ones, so that a program written for either finds what it reads. What
nobody knows is null, never 0 or empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from gateval.assertions.base import AssessmentContext, Priced
from gateval.assertions.evidence import Basis, Evidence
from gateval.assertions.own_checks import CommandInFolder, read_form
from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import AssertionSpec, FixtureInput
from gateval.domain.manifests.messages import Role, text_of
from gateval.domain.strict_json import NotStrictJson
from gateval.domain.text import show_figure, show_threshold
from gateval.domain.trials.trace import Step, StepKind, Trace
from gateval.domain.trials.trial import Assessed
from gateval.safe.legible import shorten

_LISTED = 200


class CodeAnswer(NamedTuple):
    """A score in [0, 1], what is said about it, and whether it passed where that is said too."""

    score: float
    words: str
    passed: bool | None = None


class _Told(BaseModel):
    """Further keys are the program's own (`details`), as its makers' documents allow."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, defer_build=True)


class _Point(_Told):
    text: str
    passed: bool


class _Printed(_Told):
    score: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    hits: tuple[str, ...] = Field(default=(), max_length=_LISTED)
    misses: tuple[str, ...] = Field(default=(), max_length=_LISTED)
    reasoning: str | None = None
    assertions: tuple[_Point, ...] = Field(default=(), max_length=_LISTED)
    verdict: Literal["pass", "borderline", "fail"] | None = None


def read_code_answer(printed: bytes, *, plain: bool = False) -> CodeAnswer:
    """Return what a program that ended well said; with `plain`, a text that is no JSON is a 1.

    Raises `ValueError` with the end of a sentence for anything else.
    """
    try:
        text = printed.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    try:
        told = read_form(text, _Printed, "`score`")
    except NotStrictJson as error:
        if plain:
            return CodeAnswer(1.0, text)
        raise ValueError(f"it is no JSON ({error})") from None
    score = told.score
    if score is None:
        if not told.assertions:
            raise ValueError("it has neither `score` nor `assertions`")
        score = sum(one.passed for one in told.assertions) / len(told.assertions)
    missed = [*told.misses, *(one.text for one in told.assertions if not one.passed)]
    parts = [told.reasoning or "", f"missed: {'; '.join(missed)}" if missed else ""]
    words = ". ".join(part for part in parts if part)
    return CodeAnswer(score, words, None if told.verdict is None else told.verdict == "pass")


THE_ANSWER = "[the agent's final answer: step {step} of the recorded run]"
THE_RUN = "[the steps of the recorded run]"
"""Stand for the agent's own words wherever a judge's prompt would hold them: these words reach the
judge between the delimiters of the recorded run alone, where nothing counts as an instruction."""


def case_words(evidence: Evidence) -> JsonObject:
    """Return what is known of the case, without anything that the agent said or did."""
    asked, reference = evidence.input, evidence.reference
    messages: list[JsonValue] = [*input_messages(asked)]
    return {
        "id": reference.case or None,
        "conversation_id": reference.conversation or None,
        "question": question(asked),
        "expected_outcome": reference.outcome,
        "criteria": reference.outcome,
        "expected_messages": reference.expected,
        "expected_output": reference.expected,
        "reference_answer": reference.text,
        "input_messages": messages,
        "input": messages,
        "input_files": list(reference.input_files),
        "guideline_files": list(reference.guideline_files),
        "sidecar": reference.metadata or None,
        "metadata": reference.metadata or None,
    }


def trial_words(evidence: Evidence, config: JsonObject) -> JsonObject:
    """Return all that a program is told: the case, what the agent did, and its own `config`."""
    answer, recorded = evidence.answer, evidence.answer.recorded
    said = output_messages(evidence.transcript)
    return {
        **case_words(evidence),
        "candidate_answer": answer.output,
        "output": answer.output,
        "output_messages": said,
        "messages": said,
        "trace_summary": None if recorded is None else _summary(evidence, recorded),
        "token_usage": _tokens(evidence),
        "cost_usd": evidence.money[0],
        "duration_ms": _milliseconds(evidence),
        "start_time": None,
        "end_time": None,
        "output_path": None,
        "workspace_path": None,
        "file_changes": None,
        "config": config or None,
    }


def prompt_words(evidence: Evidence, config: JsonObject) -> JsonObject:
    """Return what a judge's prompt is made of: the agent's words are named there, not repeated."""
    answer = THE_ANSWER.format(step=next(iter(evidence.final), "?"))
    return {
        **case_words(evidence),
        "candidate_answer": answer,
        "output": answer,
        "output_messages": THE_RUN,
        "messages": THE_RUN,
        "config": config or None,
    }


def question(asked: FixtureInput) -> str:
    """Return what the user says first; where nobody does, the prompt."""
    first = next((one for one in asked.messages if one.role is Role.USER), None)
    return asked.prompt if first is None else text_of(first.content)


def input_messages(asked: FixtureInput) -> list[JsonObject]:
    """Return the messages of the input, at least the user's one."""
    if asked.messages:
        return [message.as_json() for message in asked.messages]
    return [{"role": "user", "content": asked.prompt}]


def output_messages(transcript: Trace) -> list[JsonValue]:
    """Return what the agent said and called as messages; a call has its result as `output`, that of
    its id, else that of the first call of the tool that is still open.
    """
    messages: list[JsonObject] = []
    calls: list[tuple[Step, JsonObject]] = []
    made: list[JsonValue] = []
    for step in transcript.steps:
        if step.kind is StepKind.ASSISTANT:
            made = []
            messages.append({"role": "assistant", "content": step.text})
        elif step.kind is StepKind.TOOL_CALL:
            if not messages:
                messages.append({"role": "assistant", "content": ""})
            call: JsonObject = {"tool": step.tool, "input": step.arguments, "id": step.call_id}
            if step.took is not None:
                call["duration_ms"] = round(step.took * 1000, 3)
            calls.append((step, call))
            made.append(call)
            messages[-1]["tool_calls"] = made
        elif step.kind is StepKind.TOOL_RESULT:
            open_ones = (call for called, call in calls if _answers(step, called, call))
            next(open_ones, {})["output"] = step.text
    return [*messages]


def _answers(result: Step, called: Step, call: JsonObject) -> bool:
    by_id = called.call_id == result.call_id if result.call_id else called.tool == result.tool
    return by_id and "output" not in call


def _summary(evidence: Evidence, trace: Trace) -> JsonObject:
    names = Counter(step.tool or "" for step in trace.tool_calls())
    return {
        "event_count": sum(names.values()),
        "tool_names": [*sorted(names)],
        "tool_calls_by_name": dict(sorted(names.items())),
        "error_count": sum(step.kind is StepKind.ERROR for step in trace.steps),
        "llm_call_count": evidence.model_calls[0] or None,
        "token_usage": _tokens(evidence),
        "cost_usd": evidence.money[0],
        "duration_ms": _milliseconds(evidence),
        "start_time": None,
        "end_time": None,
    }


def _milliseconds(evidence: Evidence) -> float:
    """The time of the answer; a longer one, where the candidate itself reports it."""
    answer = evidence.answer
    return round(max(answer.seconds, answer.claimed.seconds or 0.0) * 1000, 3)


def _tokens(evidence: Evidence) -> JsonObject | None:
    usage = evidence.usage
    if usage.input_tokens is None and usage.output_tokens is None:
        return None
    return {"input": usage.input_tokens, "output": usage.output_tokens}


class CodeJudge(CommandInFolder):
    """A program scores the run at least `minScore`, by the contract of AgentV's code judges.

    It gets one JSON object on standard input: `question`, `expected_outcome`, `reference_answer`,
    `candidate_answer`, `input_messages`, `output_messages`, `expected_messages`, `input_files`,
    `guideline_files`, `trace_summary`, `config`, `sidecar`, and the newer words for them. It prints
    `score` from 0 to 1 with `hits`, `misses`, `reasoning` and `details`, or `assertions` with
    `text` and `passed`, whose share is the score. It runs as `script` does. A crash, a time-out or
    any other answer is an error, never a score of 0.
    """

    basis: ClassVar[Basis] = Basis.TRACE

    plain_text: bool = Field(
        default=False,
        description="Whether a program that ends well and prints no JSON has passed the run.",
    )

    async def assess_in(
        self, evidence: Evidence, spec: AssertionSpec, context: AssessmentContext
    ) -> Priced:
        """See `Assertion`. Rests on the final message."""
        told = trial_words(evidence, self.config)
        read = partial(read_code_answer, plain=self.plain_text)
        answer = await self.answer(told, spec.own, context, read)
        expected = f"the check {self.named} to score at least {show_threshold(self.min_score)}"
        return scored(self, answer, expected=expected, steps=evidence.final), None


def scored(
    check: CommandInFolder, answer: CodeAnswer, *, expected: str, steps: Sequence[int]
) -> Assessed:
    """Return the assessment of what a program answered, by its score."""
    said = f": {shorten(answer.words, 400).rstrip('.')}" if answer.words.strip() else ""
    saw = f"{show_figure(answer.score, check.min_score)}{said}"
    least = check.min_score
    return check.graded(answer.score, least=least, expected=expected, saw=saw, steps=steps)
