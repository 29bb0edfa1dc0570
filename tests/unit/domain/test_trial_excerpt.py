"""The steps around what failed."""

from __future__ import annotations

from gateval.domain.trials.trace import Step, StepKind, Trace, TraceBuilder
from gateval.domain.trials.trial import (
    STEP_WIDTH,
    Outcome,
    Trial,
    blamed_steps,
    describe,
    excerpt,
    trial_excerpt,
)
from tests.helpers.reports import make_results
from tests.helpers.sample_reports import REFUND_ASSESSMENTS, REFUND_TRACE


def long_trace(steps: int) -> Trace:
    builder = TraceBuilder()
    for number in range(1, steps + 1):
        builder.add(StepKind.ASSISTANT, f"says {number}")
    return Trace(steps=builder.steps())


def numbers(text: str) -> list[str]:
    return [line.split()[0] if line[0] != ">" else ">" + line.split()[1] for line in text.split("\n")]  # fmt: skip


def test_steps_rested_on_and_proven_are_blamed_refused_ones_are_not() -> None:
    assert blamed_steps(REFUND_ASSESSMENTS) == (4,)


def test_blamed_steps_are_marked_and_shown_with_their_neighbours() -> None:
    assert numbers(excerpt(long_trace(30), (5, 20))) == [
        "...", "4", ">5", "6", "...", "19", ">20", "21", "...",
    ]  # fmt: skip


def test_of_many_blamed_steps_the_first_are_shown() -> None:
    shown = numbers(excerpt(long_trace(30), tuple(range(1, 31))))
    assert shown == [*(f">{n}" for n in range(1, 11)), "..."]


def test_without_blame_the_last_steps_are_shown() -> None:
    assert numbers(excerpt(long_trace(12), ())) == ["...", *map(str, range(3, 13))]
    assert numbers(excerpt(long_trace(12), (99,)))[0] == "..."


def test_a_step_is_one_line() -> None:
    call, result = REFUND_TRACE.steps[3], REFUND_TRACE.steps[4]
    long = Step(number=1, kind=StepKind.ASSISTANT, text="word\n" * 100)

    assert describe(call) == 'refund_order {"amount":129.0,"order_id":"A-1001"}'
    assert describe(result) == 'refund_order: {"ok": true}'
    assert describe(Step(number=1, kind=StepKind.TOOL_CALL)) == "? {}"
    assert len(describe(long)) == STEP_WIDTH + 1


def test_without_a_trace_the_final_message_is_shown() -> None:
    key = make_results("a-eval f head:fail").trials[0].key
    trial = Trial(key=key, outcome=Outcome.FAIL, output="I have refunded it.")

    assert trial_excerpt(trial) == "I have refunded it."
    assert trial_excerpt(trial.model_copy(update={"output": None})) == ""
    assert trial_excerpt(None) == ""


def test_conversations_are_numbered_where_there_are_several() -> None:
    builder = TraceBuilder()
    builder.add(StepKind.USER, "one")
    builder.add(StepKind.USER, "two", conversation=2)
    assert excerpt(Trace(steps=builder.steps()), ()).splitlines() == [
        "   1  [1]  user         one",
        "   2  [2]  user         two",
    ]
    assert "[1]" not in excerpt(long_trace(2), ())
