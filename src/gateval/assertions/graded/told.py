"""What a case and its trial are, in the words of AgentV: for its programs and its templates.

Newer words stand beside older ones, so that a program written for either finds what it reads. What
nobody knows is null, never 0 or empty.
"""

from __future__ import annotations

from collections import Counter

from pydantic import JsonValue

from gateval.assertions.evidence import Evidence
from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.manifests.fixtures.messages import Role, text_of
from gateval.domain.trials.trace import Step, StepKind, Trace

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
    """Return what the agent said and called as messages; a call has its result as `output`."""
    messages: list[JsonObject] = []
    calls: list[tuple[Step, JsonObject]] = []
    for step in transcript.steps:
        if step.kind is StepKind.ASSISTANT:
            messages.append({"role": "assistant", "content": step.text})
        elif step.kind is StepKind.TOOL_CALL:
            call = _call(step)
            calls.append((step, call))
            _calls_of(messages).append(call)
        elif step.kind is StepKind.TOOL_RESULT:
            _put_result(step, calls)
    return list(messages)


def _calls_of(messages: list[JsonObject]) -> list[JsonValue]:
    """The calls of the assistant's newest message, made where there is none."""
    if not messages:
        messages.append({"role": "assistant", "content": ""})
    calls = messages[-1].setdefault("tool_calls", [])
    return calls if isinstance(calls, list) else []


def _call(step: Step) -> JsonObject:
    call: JsonObject = {"tool": step.tool, "input": step.arguments, "id": step.call_id}
    return call if step.took is None else {**call, "duration_ms": round(step.took * 1000, 3)}


def _put_result(step: Step, calls: list[tuple[Step, JsonObject]]) -> None:
    """Give the result to the call that it answers: by its id, else the first such one open."""
    for called, call in calls:
        same = called.call_id == step.call_id if step.call_id else called.tool == step.tool
        if same and "output" not in call:
            call["output"] = step.text
            return


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
