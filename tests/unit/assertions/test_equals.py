from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.trials import assessed, said


@pytest.mark.parametrize(
    ("output", "options", "status"),
    [
        ("yes", {"value": "yes"}, "passed"),
        (" yes\n", {"value": "yes"}, "passed"),
        ("Yes", {"value": "yes"}, "failed"),
        ('"yes"', {"value": "yes"}, "failed"),
        ('{"b": 2, "a": 1.0}', {"value": {"a": 1, "b": 2}}, "passed"),
        ('{"a": 1, "b": 2}', {"value": {"a": 1}}, "failed"),
        ("4", {"value": 4}, "passed"),
        ("4", {"value": "4"}, "passed"),
        ("true", {"value": 1}, "failed"),
        ("1", {"value": True}, "failed"),
        ("null", {"value": None}, "passed"),
        ("[1, 2]", {"value": [2, 1]}, "failed"),
        ("four", {"value": 4}, "failed"),
        ('{"a": {"b": "x"}}', {"value": "x", "field": "a.b"}, "passed"),
        ('{"a": {"b": " x"}}', {"value": "x", "field": "a.b"}, "failed"),
        ('{"a": {"b": 4}}', {"value": "4", "field": "a.b"}, "failed"),
        ('{"a": null}', {"value": None, "field": "a"}, "passed"),
        ("{}", {"value": None, "field": "a"}, "failed"),
    ],
)
def test_compares(output: str, options: dict[str, Any], status: str) -> None:
    found = assessed({"type": "equals", **options}, said(output))
    assert (found.status.value, found.steps) == (status, (2,))


def test_says_what_it_expected_and_saw() -> None:
    found = assessed({"type": "equals", "value": {"a": 1}, "field": "r"}, said('{"r": [1]}'))
    assert found.reason == 'Expected `r` of the final message to equal {"a": 1}, saw [1].'


def test_tells_a_number_from_the_text_that_looks_like_it() -> None:
    found = assessed({"type": "equals", "value": 10482, "field": "id"}, said('{"id": "10482"}'))
    assert found.reason == 'Expected `id` of the final message to equal 10482, saw "10482".'
