from __future__ import annotations

import pytest

from gateval.domain.trials.trace import STEP_LIMIT, StepKind, Trace
from gateval.domain.trials.trial import Answer, final_step, numbered_steps
from tests.helpers.trials import PROMPT, said, trace


def kinds(steps: Trace) -> list[tuple[int, str, str]]:
    return [(step.number, step.kind.value, step.text) for step in steps.steps]


def test_without_a_trace_there_are_the_input_and_the_final_message() -> None:
    found = numbered_steps(PROMPT, said("Sure."))
    assert kinds(found) == [(1, "user", "I want a refund."), (2, "assistant", "Sure.")]
    assert found.source == "answer"


@pytest.mark.parametrize(
    ("steps", "output", "added"),
    [
        (["user: hi", "says: Sure."], "Sure.", False),
        (["user: hi", "says: Sure."], "Sure.\n", False),
        (["user: hi", "says: Sure."], "Not so sure.", True),
        (["user: hi", "says: Sure.", "call refund"], "Sure.", False),
        (["user: hi", "says: Sure.", "says: Done."], "Sure.", True),
        (["user: hi", "call refund"], "Sure.", True),
        (["user: hi"], "", True),
        ([], "Sure.", True),
    ],
)
def test_the_final_message_is_part_of_the_transcript(
    steps: list[str], output: str, added: bool
) -> None:
    recorded = trace(*steps)
    found = numbered_steps(PROMPT, Answer(output=output, trace=recorded, seconds=1))
    assert found.steps[: len(steps)] == recorded.steps, "recorded steps keep their numbers"
    assert len(found.steps) == len(steps) + added
    final = final_step(found)
    assert final is not None
    assert final.text.strip() == output.strip()
    assert found.step(final.number) == final


def test_a_long_final_message_that_the_trace_holds_in_part_is_not_added_again() -> None:
    output = "x" * (STEP_LIMIT + 10)
    found = numbered_steps(PROMPT, Answer(output=output, trace=trace(f"says: {output}"), seconds=1))
    assert len(found.steps) == 1
    assert found.steps[0].truncated
    alone = numbered_steps(PROMPT, said(output))
    assert alone.steps[1].truncated
    assert len(alone.steps[1].text) == STEP_LIMIT


def test_final_step_is_the_last_assistant_step() -> None:
    assert final_step(trace("user: hi", "call x")) is None
    found = final_step(trace("says: a", "says: b", "call x"))
    assert found is not None
    assert (found.number, found.kind) == (2, StepKind.ASSISTANT)


@pytest.mark.parametrize(
    ("output", "giver"),
    [
        ("Polished.", "critic"),  # what CrewAI leaves of `Final Answer: Polished.`
        ("Draft.", "writer"),
        ("Paid back.", "clerk"),  # a tool whose result is the answer
        ("olished.", ""),
        ("Something else.", ""),
        ("", ""),
    ],
)
def test_the_final_message_is_of_the_agent_that_gave_it(output: str, giver: str) -> None:
    said_by = {1: "", 2: "writer", 3: "critic", 4: "clerk", 5: "lead"}
    recorded = trace(
        "user: hi",
        "says: Draft.",
        "says: I now can give a great answer\nFinal Answer: Polished.",
        "result refund: Paid back.",
        "says: Well.",
    )
    steps = tuple(
        step.replace(agent=said_by[step.number], conversation=step.number)
        for step in recorded.steps
    )
    answer = Answer(output=output, trace=recorded.replace(steps=steps), seconds=1)
    final = final_step(numbered_steps(PROMPT, answer))
    assert final is not None
    assert (final.number, final.agent) == (6, giver)
