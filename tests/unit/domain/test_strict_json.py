from __future__ import annotations

from typing import Any

import pytest

from gateval.domain.strict_json import DEPTH_LIMIT, NotStrictJson, read_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2.5, null, true, "x"]}', {"a": [1, 2.5, None, True, "x"]}),
        (' "text" \n', "text"),
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ("[" * DEPTH_LIMIT + "]" * DEPTH_LIMIT, None),
    ],
)
def test_reads(text: str, value: Any) -> None:
    found = read_json(text)
    assert value is None or found == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expecting value at line 1"),
        ("hello", "expecting value"),
        ("{} {}", "extra data"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', 'key "c" stands there twice'),
        ("NaN", "NaN is no JSON number"),
        ("[-Infinity]", "-Infinity is no JSON number"),
        ("1e999", "a number is too big"),
        ("9" * 5000, "too many digits"),
        ('["\\ud800"]', "surrogate"),
        ('{"\\ud800": 1}', "surrogate"),
        ("[" * (DEPTH_LIMIT + 1) + "]" * (DEPTH_LIMIT + 1), "levels deep"),
        ("[" * 200_000, "levels deep"),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, "levels deep"),
    ],
)
def test_refuses_what_is_ambiguous_or_too_much(text: str, why: str) -> None:
    with pytest.raises(NotStrictJson, match=why):
        read_json(text)
