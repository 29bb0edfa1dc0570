"""Steps and traces as values of stage files."""

from __future__ import annotations

from gateval.domain.trials.trace import StepKind, Trace, TraceBuilder


def test_results_from_before_conversations_were_counted_are_read() -> None:
    old = '{"steps": [{"number": 1, "kind": "user", "text": "hi"}], "source": "gateway"}'
    trace = Trace.model_validate_json(old)
    assert [step.conversation for step in trace.steps] == [1]
    assert not trace.is_parallel


def test_conversations_survive_the_file() -> None:
    builder = TraceBuilder()
    builder.add(StepKind.USER, "one")
    builder.add(StepKind.USER, "two", conversation=2)
    trace = Trace(steps=builder.steps())
    assert Trace.model_validate_json(trace.model_dump_json()) == trace
    assert trace.is_parallel
