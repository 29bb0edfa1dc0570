"""Every corner of `toolNotCalled`. Tools are single letters; the first call is step 2."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gateval.assertions.tools import ToolNotCalled
from tests.helpers.trials import assessed, called


@pytest.mark.parametrize(
    ("calls", "before", "after", "status", "steps"),
    [
        # no order
        ("", "", "", "passed", ()),
        ("a b", "", "", "passed", ()),
        ("a t t", "", "", "failed", (3, 4)),
        # after: no t after any x's first call; an absent x forbids nothing
        ("t a", "", "a", "passed", (3,)),
        ("a t", "", "a", "failed", (2, 3)),
        ("t a t", "", "a", "failed", (3, 4)),
        ("t", "", "a", "passed", ()),
        ("", "", "a", "passed", ()),
        ("a b", "", "a", "passed", (2,)),
        ("t a", "", "a b", "passed", (3,)),
        ("b t a", "", "a b", "failed", (2, 3, 4)),
        # t itself in after: it may be called once
        ("t", "", "t", "passed", (2,)),
        ("t t", "", "t", "failed", (2, 3)),
        # before: no t precedes the first x; if x never comes, any t fails
        ("a t", "a", "", "passed", (2,)),
        ("t a", "a", "", "failed", (2, 3)),
        ("t a t", "a", "", "failed", (2, 3)),
        ("a t a", "a", "", "passed", (2,)),
        ("t", "a", "", "failed", (2,)),
        ("", "a", "", "passed", ()),
        ("a t b", "a b", "", "failed", (2, 3, 4)),
        ("b a t", "a b", "", "passed", (2, 3)),
        ("a t", "a b", "", "failed", (2, 3)),
        # asking for t counts, refused or not; what was refused opens no way for it
        ("t!", "", "", "failed", (2,)),
        ("a! t", "a", "", "failed", (3,)),
        ("a! t", "", "a", "failed", (2, 3)),
        ("a t!", "", "a", "failed", (2, 3)),
        # both: t may be called only between a and b
        ("a t b", "a", "b", "passed", (2, 4)),
        ("t a b", "a", "b", "failed", (2, 3, 4)),
        ("a b t", "a", "b", "failed", (2, 3, 4)),
        ("a t", "a", "b", "passed", (2,)),
    ],
)
def test_order(calls: str, before: str, after: str, status: str, steps: tuple[int, ...]) -> None:
    options = {"tool": "t", "before": before.split(), "after": after.split()}
    found = assessed({"type": "toolNotCalled", **options}, called(calls))
    assert (found.status.value, found.steps) == (status, steps)


@pytest.mark.parametrize(
    ("calls", "options", "reason"),
    [
        ("a", {}, "Expected no call of `t`, saw none."),
        ("a t a t", {}, "Expected no call of `t`, saw it at step 3, 5."),
        ("t " * 8, {}, "Expected no call of `t`, saw it at step 2, 3, 4, 5, 6 and 3 more times."),
        ("a t", {"after": ["a"]}, "Expected no call of `t` after `a`, saw it at step 3."),
    ],
)
def test_says_what_it_expected_and_saw(calls: str, options: dict[str, Any], reason: str) -> None:
    found = assessed({"type": "toolNotCalled", "tool": "t", **options}, called(calls))
    assert found.reason == reason


def test_refuses_what_could_never_fail() -> None:
    with pytest.raises(ValidationError, match="cannot come before itself"):
        ToolNotCalled(tool="t", before=("t",))
