"""`startsWith`, `endsWith` and `isJson`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.trials import assessed, said


@pytest.mark.parametrize(
    ("output", "options", "starts", "ends"),
    [
        ("Dear Ms Lee", {"value": "Dear"}, True, False),
        ("dear", {"value": "Dear"}, False, False),
        ("dear", {"value": "DEAR", "ignoreCase": True}, True, True),
        ("\n a b \n", {"value": " a b "}, True, True),
        ("", {"value": "x"}, False, False),
        ('{"reply": "so: 4"}', {"value": "so", "field": "reply"}, True, False),
        ('{"reply": "so: 4"}', {"value": "4", "field": "reply"}, False, True),
        ('{"reply": "so: 4"}', {"value": "4", "field": "other"}, False, False),
        ("so: 4", {"value": "4", "field": "reply"}, False, False),
    ],
)
def test_either_end(output: str, options: dict[str, Any], starts: bool, ends: bool) -> None:
    for kind, met in (("startsWith", starts), ("endsWith", ends)):
        found = assessed({"type": kind, **options}, said(output))
        assert found.status.value == ("passed" if met else "failed")
        assert found.steps == (2,)


def test_each_shows_its_end() -> None:
    text = "begin " + "x" * 1000 + " end"
    starts = assessed({"type": "startsWith", "value": "no"}, said(text))
    ends = assessed({"type": "endsWith", "value": "no"}, said(text))
    assert 'to start with "no", saw "begin xxx' in starts.reason
    assert ends.reason.endswith('x end".')
    assert max(len(starts.reason), len(ends.reason)) < 300


@pytest.mark.parametrize(
    ("output", "field", "met"),
    [
        ("{}", None, True),
        (" 4 \n", None, True),
        ('{"a": {"b": null}}', "a.b", True),
        ('{"a": {}}', "a.b", False),
        ("```json\n{}\n```", None, False),
        ("NaN", None, False),
        ('{"a": 1, "a": 2}', None, False),
        ("", None, False),
    ],
)
def test_json(output: str, field: str | None, met: bool) -> None:
    options = {"field": field} if field else {}
    found = assessed({"type": "isJson", **options}, said(output))
    assert found.status.value == ("passed" if met else "failed")
