"""`contains` and `notContains`, which differ only in what they want."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.trials import assessed, said

JSON = '{"reply": "Answer: 4", "items": [{"n": 4}], "note": null}'


@pytest.mark.parametrize(
    ("output", "options", "there"),
    [
        ("answer: 4", {"value": "answer:"}, True),
        ("Answer: 4", {"value": "answer:"}, False),
        ("Answer: 4", {"value": "answer:", "ignoreCase": True}, True),
        ("STRASSE", {"value": "straße", "ignoreCase": True}, True),
        ("", {"value": "x"}, False),
        ("a\nb", {"value": "a\nb"}, True),
        (JSON, {"value": "Answer", "field": "reply"}, True),
        (JSON, {"value": "items", "field": "reply"}, False),
        (JSON, {"value": '{"n":4}', "field": "items"}, True),
        (JSON, {"value": "4", "field": "items.0.n"}, True),
        (JSON, {"value": "null", "field": "note"}, True),
        ("half a pair \ud800", {"value": "half"}, True),
    ],
)
def test_both(output: str, options: dict[str, Any], there: bool) -> None:
    yes = assessed({"type": "contains", **options}, said(output))
    no = assessed({"type": "notContains", **options}, said(output))
    assert yes.status.value == ("passed" if there else "failed")
    assert no.status.value == ("failed" if there else "passed")
    assert yes.steps == no.steps == (2,)


@pytest.mark.parametrize(
    ("output", "field", "saw"),
    [
        ("hello", "reply", "saw a final message that is no JSON (expecting value"),
        ("```json\n{}\n```", "reply", "no JSON"),
        ('{"a": 1, "a": 2}', "a", 'no JSON (the key "a" stands there twice)'),
        (JSON, "replies", "saw no field `replies` in"),
        (JSON, "reply.text", "saw no field `reply.text` in"),
        (JSON, "items.1", "saw no field `items.1` in"),
        (JSON, "items.-1", "saw no field `items.-1` in"),
        (JSON, "items.²", "saw no field"),
        ("[" * 100_000, "a", "levels deep"),
    ],
)
@pytest.mark.parametrize("kind", ["contains", "notContains"])
def test_what_cannot_be_looked_at_fails_both(kind: str, output: str, field: str, saw: str) -> None:
    found = assessed({"type": kind, "value": "x", "field": field}, said(output))
    assert found.status.value == "failed"
    assert saw in found.reason


def test_says_what_it_expected_and_saw() -> None:
    found = assessed({"type": "contains", "value": "answer:", "field": "a"}, said('{"a": "no"}'))
    assert found.reason == 'Expected "answer:" in `a` of the final message, saw "no".'
    found = assessed({"type": "notContains", "value": "no"}, said("no way"))
    assert found.reason == 'Expected no "no" in the final message, saw "no way".'


def test_long_and_deceiving_texts_are_shortened_and_made_visible() -> None:
    found = assessed({"type": "contains", "value": "x"}, said("a\u202eb\n\n" + "y" * 5000))
    assert len(found.reason) < 300
    assert "a\\u202eb yyy" in found.reason
    assert found.reason.endswith('…".')


@pytest.mark.parametrize("field", ["", ".a", "a.", "a..b"])
def test_an_empty_part_of_a_path_is_refused(field: str) -> None:
    found = assessed({"type": "contains", "value": "x", "field": field}, said("{}"))
    assert found.status.value == "error"
