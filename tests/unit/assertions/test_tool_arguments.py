from __future__ import annotations

import json
from typing import Any

import pytest

from gateval.domain.trials.trace import Step, StepKind, Trace
from gateval.domain.trials.trial import Answer
from tests.helpers.trials import assessed, trace


def answer(*arguments: object) -> Answer:
    steps = [f"call refund {json.dumps(each)}" for each in arguments]
    return Answer(output="", trace=trace("call other {}", *steps), seconds=1)


ONE = {"order": "12", "amount": 5, "customer": {"id": 7, "vip": True}, "items": [{"sku": "a"}]}
TWO = {"order": "99"}


@pytest.mark.parametrize(
    ("arguments", "mode", "status"),
    [
        ({}, "subset", "passed"),
        ({"order": "12"}, "subset", "passed"),
        ({"order": "12"}, "exact", "failed"),
        (ONE, "exact", "passed"),
        ({"order": 12}, "subset", "failed"),
        ({"amount": 5.0}, "subset", "passed"),
        ({"customer": {"id": 7}}, "subset", "passed"),
        ({"customer": {"id": 7}}, "exact", "failed"),
        ({"customer": {"vip": 1}}, "subset", "failed"),
        ({"items": [{}]}, "subset", "passed"),
        ({"items": []}, "subset", "failed"),
        ({"items": [{"sku": "a"}, {"sku": "b"}]}, "subset", "failed"),
        ({"customer": None}, "subset", "failed"),
        ({"missing": None}, "subset", "failed"),
    ],
)
def test_modes(arguments: dict[str, Any], mode: str, status: str) -> None:
    options = {"tool": "refund", "arguments": arguments, "mode": mode}
    found = assessed({"type": "toolArguments", **options}, answer(ONE))
    assert (found.status.value, found.steps) == (status, (2,))


@pytest.mark.parametrize(
    ("occurrence", "order", "status", "steps"),
    [
        ("any", "12", "passed", (2,)),
        ("any", "99", "passed", (3,)),
        ("any", "00", "failed", (2, 3)),
        ("all", "12", "failed", (3,)),
        ("first", "12", "passed", (2,)),
        ("first", "99", "failed", (2,)),
        ("last", "99", "passed", (3,)),
        ("last", "12", "failed", (3,)),
    ],
)
def test_occurrences(occurrence: str, order: str, status: str, steps: tuple[int, ...]) -> None:
    options = {"tool": "refund", "arguments": {"order": order}, "occurrence": occurrence}
    found = assessed({"type": "toolArguments", **options}, answer(ONE, TWO))
    assert (found.status.value, found.steps) == (status, steps)


def test_all_passes_when_every_call_matches() -> None:
    options = {"tool": "refund", "arguments": {}, "occurrence": "all"}
    found = assessed({"type": "toolArguments", **options}, answer(ONE, TWO))
    assert (found.status.value, found.steps) == ("passed", (2, 3))


@pytest.mark.parametrize(
    ("ignore", "status"),
    [
        (["amount", "customer", "items"], "passed"),
        (["amount", "customer.vip", "customer.id", "items"], "failed"),
        (["amount", "items"], "failed"),
        (["nothing", "amount.deeper"], "failed"),
    ],
)
def test_ignored_keys_do_not_matter_on_either_side(ignore: list[str], status: str) -> None:
    options = {"arguments": {"order": "12", "amount": 6}, "mode": "exact", "ignore": ignore}
    found = assessed({"type": "toolArguments", "tool": "refund", **options}, answer(ONE))
    assert found.status.value == status


def test_a_dotted_key_inside_is_ignored() -> None:
    options = {"arguments": {"customer": {"id": 7}}, "mode": "exact", "ignore": ["customer.vip"]}
    found = assessed(
        {"type": "toolArguments", "tool": "refund", **options},
        answer({"customer": ONE["customer"]}),
    )
    assert found.status.value == "passed"


@pytest.mark.parametrize("occurrence", ["any", "all", "first", "last"])
def test_a_tool_that_is_never_called_fails(occurrence: str) -> None:
    options = {"tool": "refund", "arguments": {}, "occurrence": occurrence}
    found = assessed({"type": "toolArguments", **options}, answer())
    assert found.status.value == "failed"
    assert "saw the calls other" in found.reason


def test_arguments_that_were_no_object_do_not_match() -> None:
    step = Step(number=1, kind=StepKind.TOOL_CALL, tool="refund")
    broken = Answer(output="", trace=Trace(steps=(step,)), seconds=1)
    found = assessed({"type": "toolArguments", "tool": "refund", "arguments": {}}, broken)
    assert found.status.value == "failed"
    assert "saw arguments that are no JSON object at step 1" in found.reason


def test_says_what_it_expected_and_saw() -> None:
    options = {"tool": "refund", "arguments": {"order": "7"}, "mode": "exact", "occurrence": "last"}
    found = assessed({"type": "toolArguments", **options}, answer(ONE, TWO))
    assert found.reason == (
        'Expected exactly the last call of `refund` with {"order": "7"}, '
        'saw {"order": "99"} at step 3.'
    )
