"""`wireCall`, `transcriptContains` and `transcriptForbids`, at their edges."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gateval.assertions.registry import ASSERTIONS
from gateval.assertions.state_files import StateAssertion
from gateval.assertions.transcript import WireCall
from gateval.domain.manifests.fixture_checks import STATE_CHECKS
from gateval.domain.trials.trial import Answer
from tests.helpers.trials import assessed, called, said, trace

REFUND = 'call refund {"order": 7, "note": "x"}'


def answer(*steps: str, source: Any = "gate") -> Answer:
    return Answer(output="Done.", trace=trace(*steps, "says: Done.", source=source), seconds=1)


@pytest.mark.parametrize(
    ("options", "steps", "status", "rests_on"),
    [
        ({}, [REFUND], "passed", (1,)),
        ({}, [], "failed", ()),
        ({"atMost": 1}, [REFUND, REFUND], "failed", (1, 2)),
        ({"atLeast": 2}, [REFUND, REFUND], "passed", (1, 2)),
        ({"atLeast": 0, "atMost": 0}, [], "passed", ()),
        ({"atLeast": 0, "atMost": 0}, [REFUND], "failed", (1,)),
        ({"arguments": {"order": 7}}, [REFUND], "passed", (1,)),
        ({"arguments": {"order": 7}, "mode": "exact"}, [REFUND], "failed", (1,)),
        ({"arguments": {"order": 8}}, [REFUND], "failed", (1,)),
        ({}, ["refused refund {}"], "failed", ()),
    ],
)
def test_wire_calls_are_counted(
    options: dict[str, Any], steps: list[str], status: str, rests_on: tuple[int, ...]
) -> None:
    found = assessed({"type": "wireCall", "tool": "refund", **options}, answer(*steps))
    assert (found.status, found.steps) == (status, rests_on)


def test_calls_of_the_gates_own_tools_show_what_was_called_and_not_what_was_not() -> None:
    given = answer(REFUND, source="gateway")
    assert assessed({"type": "wireCall", "tool": "refund"}, given).status == "passed"
    assert assessed({"type": "wireCall", "tool": "refund", "atMost": 1}, given).status == "error"


@pytest.mark.parametrize("source", ["candidate", "answer"])
def test_the_word_of_a_candidate_is_no_wire(source: str) -> None:
    found = assessed({"type": "wireCall", "tool": "refund"}, answer(REFUND, source=source))
    assert found.status == "error"


def test_nothing_can_be_both_more_and_less() -> None:
    with pytest.raises(ValidationError, match="nothing could pass"):
        WireCall.model_validate({"tool": "x", "atLeast": 2, "atMost": 1})


@pytest.mark.parametrize(
    ("kind", "options", "given", "status"),
    [
        ("Contains", {"phrases": ["done"]}, said("Done."), "failed"),
        ("Contains", {"phrases": ["done"], "ignoreCase": True}, said("Done."), "passed"),
        ("Contains", {"phrases": ["a", "b"]}, said("a"), "failed"),
        ("Contains", {"phrases": ["go"], "speaker": "user"}, called("", "x"), "passed"),
        ("Contains", {"phrases": ['"order":7'], "speaker": "tool"}, answer(REFUND), "passed"),
        ("Contains", {"phrases": ["x"], "speaker": "tool"}, said("x"), "error"),
        ("Forbids", {"phrases": ["DONE"]}, said("Done."), "failed"),
        ("Forbids", {"phrases": ["DONE"], "ignoreCase": False}, said("Done."), "passed"),
        ("Forbids", {"phrases": ["x"], "speaker": "any"}, said("y"), "error"),
        ("Forbids", {"phrases": ["refund"], "speaker": "any"}, answer(REFUND), "failed"),
        ("Forbids", {"phrases": ["x"]}, said("y" * 40_000), "error"),
    ],
)
def test_what_is_said_is_found(
    kind: str, options: dict[str, Any], given: Answer, status: str
) -> None:
    found = assessed({"type": f"transcript{kind}", **options}, given)
    assert found.status == status, found.reason


def test_the_plan_knows_which_look_at_a_playground() -> None:
    kinds = {name for name, one in ASSERTIONS.items() if issubclass(one, StateAssertion)}
    assert kinds == STATE_CHECKS
