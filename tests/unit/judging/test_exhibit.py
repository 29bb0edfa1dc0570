from __future__ import annotations

import json

import pytest

from gateval.domain.manifests.fixture import FixtureInput, InputType
from gateval.domain.manifests.messages import InputMessage, Role
from gateval.domain.trials.trace import Step, StepKind, Trace, TraceBuilder
from gateval.domain.trials.trial import Answer, Turns, numbered_steps
from gateval.judging.prompt import exhibit, fair_share
from tests.helpers.trials import PROMPT, said, trace

RUN = trace(
    "user: I want a refund.",
    'call refund {"order": "12"}',
    "result refund: done",
    "error: too slow",
    "says: Done.",
)


def test_shows_every_step_with_its_number() -> None:
    shown = json.loads(exhibit(PROMPT, RUN, 10_000))
    assert shown == {
        "input": {"type": "prompt", "payload": {"prompt": "I want a refund."}},
        "final_message_step": 5,
        "steps": [
            {"step": 1, "kind": "user", "text": "I want a refund."},
            {"step": 2, "kind": "tool_call", "tool": "refund", "arguments": {"order": "12"}},
            {"step": 3, "kind": "tool_result", "tool": "refund", "text": "done"},
            {"step": 4, "kind": "error", "text": "too slow"},
            {"step": 5, "kind": "assistant", "text": "Done."},
        ],
    }


def test_one_line_per_step() -> None:
    lines = exhibit(PROMPT, RUN, 10_000).splitlines()
    assert sum(line.startswith('{"step":') for line in lines) == 5


@pytest.mark.parametrize(
    ("sizes", "total", "share"),
    [
        ([], 100, 0),
        ([10, 20], 100, 90),
        ([10, 20], 30, 20),
        ([10, 20], 20, 10),
        ([10, 20], 10, 5),
        ([1, 1, 1000], 100, 98),
        ([1, 500, 1000], 101, 50),
        ([5, 5, 5], 9, 3),
    ],
)
def test_fair_share(sizes: list[int], total: int, share: int) -> None:
    found = fair_share(sizes, total)
    assert found == share
    assert sum(min(size, found) for size in sizes) <= total


def test_a_flood_in_one_step_is_cut_and_the_others_are_whole() -> None:
    flooded = trace("user: hi", "says: " + "start " + "x" * 30_000 + " end", "says: Done.")
    text = exhibit(PROMPT, flooded, 2_000)
    assert len(text) < 2_700
    flood = json.loads(text)["steps"][1]
    assert flood["text"].startswith("start xxx")
    assert flood["text"].endswith("xxx end")
    assert f"[… {flood['characters_cut']} characters cut …]" in flood["text"]
    assert json.loads(text)["steps"][2] == {"step": 3, "kind": "assistant", "text": "Done."}


@pytest.mark.parametrize("filler", ["<", "\u200b", "\U000e0041", '"', "\n", "世", "x"])
def test_the_limit_counts_what_is_shown_escapes_included(filler: str) -> None:
    steps = trace("user: hi", *["says: " + filler * 20_000] * 5)
    text = exhibit(PROMPT, steps, 10_000)
    assert len(text) < 10_000 + 7 * 150
    assert json.loads(text)["steps"][3]["characters_cut"] > 0


def test_long_arguments_and_payloads_are_cut_as_text() -> None:
    steps = trace("call x " + json.dumps({"a": ["b" * 30] * 1_000}))
    payload = FixtureInput(type=InputType.WEBHOOK, payload={"deep": ["c" * 30] * 1_000})
    shown = json.loads(exhibit(payload, steps, 2_000))
    assert shown["steps"][0]["arguments"].startswith('{"a": ["bbb')
    assert shown["input"]["payload"].startswith('{"deep": ["ccc')
    assert shown["input"]["characters_cut"] > 20_000


def test_so_many_steps_that_nothing_fits_still_show_a_little_of_each() -> None:
    builder = TraceBuilder()
    for _ in range(1_000):
        builder.add(StepKind.ASSISTANT, "y" * 1_000)
    shown = json.loads(exhibit(PROMPT, Trace(steps=builder.steps()), 1_000))
    assert len(shown["steps"]) == 1_000
    assert all(step["text"].startswith("yyy") for step in shown["steps"])


def test_a_step_that_was_recorded_in_part_says_so() -> None:
    shown = json.loads(exhibit(PROMPT, numbered_steps(PROMPT, said("z" * 40_000)), 100_000))
    assert shown["steps"][1]["recorded_in_part"] is True


def test_the_judge_is_told_of_conversations_where_there_are_several() -> None:
    builder = TraceBuilder()
    builder.add(StepKind.ASSISTANT, "one")
    builder.add(StepKind.ASSISTANT, "two", conversation=2)
    shown = json.loads(exhibit(PROMPT, Trace(steps=builder.steps()), 10_000))["steps"]
    assert [step["conversation"] for step in shown] == [1, 2]


def test_a_users_words_that_are_not_of_the_input_are_claimed() -> None:
    """A program may tell its model that a user agreed; the gate's own loop tells what it was told."""
    asked = FixtureInput(
        type=InputType.PROMPT,
        payload={"prompt": "Refund it."},
        messages=(
            InputMessage(role=Role.USER, content="Hello."),
            InputMessage(role=Role.ASSISTANT, content="Shall I?"),
            InputMessage(role=Role.USER, content="Refund it."),
        ),
    )
    texts = ("Hello.", "Shall I?", " Refund  it.\n", "Yes, I agree.")
    steps = tuple(
        Step(number=at, kind=StepKind.USER, text=text) for at, text in enumerate(texts, 1)
    )
    for source, claimed in (("gateway", [2, 4]), ("candidate", [2, 4]), ("gate", [])):
        trace = Trace.model_validate({"steps": steps, "source": source})
        shown = exhibit(
            asked, numbered_steps(asked, Answer(output="Done.", trace=trace, seconds=0)), 5_000
        )
        assert [one["step"] for one in json.loads(shown)["steps"] if one.get("claimed")] == claimed


def test_each_turn_has_the_words_that_its_user_said() -> None:
    turns, start = Turns(), FixtureInput(type=InputType.PROMPT)
    for words in ("Refund order 1.", "No, wait."):
        steps = (
            Step(number=1, kind=StepKind.USER, text=words),
            Step(number=2, kind=StepKind.USER, text="Yes, do it."),
        )
        trace = Trace(steps=steps, source="gateway")
        turns.add(start.said((), words), Answer(output="Done.", trace=trace, seconds=0))
    whole = numbered_steps(start, turns.answer())
    assert [one.text for one in whole.steps if one.claimed] == ["Yes, do it."] * 2
