from __future__ import annotations

import pytest

from tests.helpers.trials import assessed, called


@pytest.mark.parametrize(
    ("calls", "tools", "status", "steps"),
    [
        ("a b c", "a b c", "passed", (2, 3, 4)),
        ("x a y b z c", "a b c", "passed", (3, 5, 7)),
        ("a b", "b a", "failed", (3,)),
        ("a a b", "a b", "passed", (2, 4)),
        ("a", "a a", "failed", (2,)),
        ("a b a", "a a", "passed", (2, 4)),
        ("", "a", "failed", ()),
        ("b a b c", "a b c", "passed", (3, 4, 5)),
    ],
)
def test_is_a_subsequence(calls: str, tools: str, status: str, steps: tuple[int, ...]) -> None:
    found = assessed({"type": "toolSequence", "tools": tools.split()}, called(calls))
    assert (found.status.value, found.steps) == (status, steps)


def test_says_where_the_sequence_is() -> None:
    one = assessed({"type": "toolSequence", "tools": ["a"]}, called("a"))
    two = assessed({"type": "toolSequence", "tools": ["a", "b"]}, called("a b"))
    assert one.reason == "Expected the calls a, saw them at step 2."
    assert two.reason == "Expected the calls a → b, saw them at steps 2, 3."


def test_says_where_the_sequence_broke() -> None:
    found = assessed({"type": "toolSequence", "tools": ["a", "b", "c"]}, called("a c b"))
    assert found.reason == (
        "Expected the calls a → b → c, saw no `c` after step 4 in the calls a → c → b."
    )


def test_many_calls_are_not_all_listed() -> None:
    found = assessed({"type": "toolSequence", "tools": ["b"]}, called("a " * 500))
    assert found.reason.endswith("a → a → a → a → a → a → a → a → a → a → a → a and 488 more.")
