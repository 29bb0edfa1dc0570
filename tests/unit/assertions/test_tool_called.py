"""Every corner of `toolCalled`. Tools are single letters; the first call is step 2."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gateval.assertions.tools import ToolCalled
from tests.helpers.trials import assessed, called


@pytest.mark.parametrize(
    ("calls", "before", "after", "status", "steps"),
    [
        # no order
        ("t", "", "", "passed", (2,)),
        ("a t t", "", "", "passed", (3,)),
        ("", "", "", "failed", ()),
        ("a b", "", "", "failed", ()),
        ("T", "", "", "failed", ()),
        # before: the first call of t precedes the first call of each x that occurs
        ("t a", "a", "", "passed", (2, 3)),
        ("t", "a", "", "passed", (2,)),
        ("a t", "a", "", "failed", (2, 3)),
        ("a t a", "a", "", "failed", (2, 3)),
        ("t a t", "a", "", "passed", (2, 3)),
        ("t b a", "a b", "", "passed", (2, 3, 4)),
        ("b t a", "a b", "", "failed", (2, 3, 4)),
        ("t a", "a b", "", "passed", (2, 3)),
        ("b a", "a", "", "failed", (3,)),
        # after: some t follows the first call of each x; an absent x fails
        ("a t", "", "a", "passed", (2, 3)),
        ("t a", "", "a", "failed", (2, 3)),
        ("t a t", "", "a", "passed", (2, 3, 4)),
        ("a t a", "", "a", "passed", (2, 3)),
        ("t", "", "a", "failed", (2,)),
        ("a t b", "", "a b", "failed", (2, 3, 4)),
        ("a b t", "", "a b", "passed", (2, 3, 4)),
        ("a t", "", "a b", "failed", (2, 3)),
        # t itself in after: it must be called again
        ("t", "", "t", "failed", (2,)),
        ("t t", "", "t", "passed", (2, 3)),
        # refused calls satisfy nothing, and asking too early counts
        ("t!", "", "", "failed", ()),
        ("t! t", "", "", "passed", (3,)),
        ("a! t", "a", "", "failed", (2, 3)),
        ("t a!", "a", "", "passed", (2, 3)),
        ("a! t", "", "a", "failed", (3,)),
        ("t a t!", "", "a", "failed", (2, 3)),
        # both
        ("a t b", "b", "a", "passed", (2, 3, 4)),
        ("t a b", "b", "a", "failed", (2, 3, 4)),
        ("b a t", "b", "a", "failed", (2, 3, 4)),
        ("t b a t", "b", "a", "passed", (2, 3, 4, 5)),
    ],
)
def test_order(calls: str, before: str, after: str, status: str, steps: tuple[int, ...]) -> None:
    options = {"tool": "t", "before": before.split(), "after": after.split()}
    found = assessed({"type": "toolCalled", **options}, called(calls))
    assert (found.status.value, found.steps) == (status, steps)
    assert found.score == (1.0 if status == "passed" else 0.0)


@pytest.mark.parametrize(
    ("calls", "options", "reason"),
    [
        ("t", {}, "Expected a call of `t`, saw `t` at step 2."),
        ("", {}, "Expected a call of `t`, saw no tool calls."),
        ("a b", {}, "Expected a call of `t`, saw the calls a → b."),
        (
            "a t",
            {"before": ["a"]},
            "Expected a call of `t` before `a`, saw `a` at step 2, before the first `t` at step 3.",
        ),
        (
            "t a",
            {"after": ["a", "b"]},
            (
                "Expected a call of `t` after `a`, `b`, saw no `t` after the first `a` at step 3 "
                "and no call of `b`."
            ),
        ),
    ],
)
def test_says_what_it_expected_and_saw(calls: str, options: dict[str, Any], reason: str) -> None:
    found = assessed({"type": "toolCalled", "tool": "t", **options}, called(calls))
    assert found.reason == reason


def test_a_tool_cannot_come_before_itself() -> None:
    with pytest.raises(ValidationError, match="cannot come before itself"):
        ToolCalled(tool="t", before=("a", "t"))
