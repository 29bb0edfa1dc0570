"""Excerpts of values before and after: what differs is in them, whatever stands around it."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from gateval.domain.text import EXCERPT, excerpts, same

ASK: JsonValue = {"name": "ask", "description": "Ask."}
PAY: JsonValue = {"name": "pay", "enabled": True}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("one\ntwo\n", "one\n2\n", ("two", "2")),
        ("one\n", "one\ntwo\n", ("", "two")),
        ("one\ntwo\nthree\nfour", "one\n2\n3\nfour", ("two three", "2 3")),
        ("same\nsame\n", "same\nsame\nsame\n", ("", "same")),
        ("one\ntwo\nthree", "one\nthree", ("two", "")),
        (None, "new", ("", "new")),
        ([ASK, PAY], [ASK], ('[{"enabled":true,"name":"pay"}]', "[]")),
        (
            [ASK, PAY],
            [ASK, {"name": "pay", "enabled": False}],
            ('{"enabled":true,"name":"pay"}', '{"enabled":false,"name":"pay"}'),
        ),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4}, ('{"b":2}', '{"b":3,"c":4}')),
        ({"type": "http", "cwd": "a"}, {"type": "http"}, ('{"cwd":"a"}', "{}")),
        (True, 1, ("true", "1")),
    ],
)
def test_only_what_differs_is_shown(
    before: JsonValue, after: JsonValue, expected: tuple[str, str]
) -> None:
    assert excerpts(before, after) == expected


def test_a_long_text_is_cut_visibly() -> None:
    _, after = excerpts("", "x" * 1000)
    assert len(after) == EXCERPT
    assert after.endswith("…")


def test_a_change_at_the_end_of_a_huge_text_is_found_at_once() -> None:
    lines = "x\n" * 300_000
    assert excerpts(lines + "old", lines + "new") == ("old", "new")


def test_truth_is_no_number() -> None:
    assert not same({"strict": True}, {"strict": 1})
    assert same({"a": 1, "b": 2}, {"b": 2, "a": 1})
