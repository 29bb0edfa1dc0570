from __future__ import annotations

import json
from typing import Any

import pytest

from gateval.domain.strict_json import DEPTH_LIMIT, NotStrictJson, read_json, read_json_parts


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


PARTED = (
    '{"evals": [{"fixtures": [{"a": 1}, 2, [3]], "b": {"fixtures": [4]}}], "fixtures": [5]}',
    ' { "x" : {"evals": [{"fixtures": [1]}]} , "evals" : [ { "fixtures" : [ ] } , {} , 1 ] } ',
    '{"evals": {"fixtures": [1]}}',
    '{"evals": [[{"fixtures": [1]}], null]}',
    '{"evals": []}',
    "{}",
    '{"evals": [{"fixtures": {"a": 1}}, {"fixtures": ["\\u00e9", {"fixtures": [1]}]}]}',
)


@pytest.mark.parametrize("text", PARTED)
def test_in_parts_it_reads_the_same(text: str) -> None:
    seen: list[Any] = []

    def made(one: Any) -> Any:
        seen.append(one)
        return one

    found = read_json_parts(text, ("evals", "fixtures"), made, depth=DEPTH_LIMIT)
    whole: Any = read_json(text)
    assert found == whole
    evals = whole.get("evals", [])
    lists = [one.get("fixtures") for one in evals if isinstance(one, dict)] if evals else []
    listed = isinstance(evals, list)
    assert seen == [one for each in lists if listed and isinstance(each, list) for one in each]


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "1", "{", '{"evals"}', '{"evals": [}', '{"evals": [1,]}', '{"evals": [1 2]}',
        '{"a": 1,}', '{"a": 1 "b": 2}', "{} {}", '{"a": 1, "a": 2}', '{"evals": [], "evals": []}',
        '{"evals": [{"fixtures": [], "fixtures": [1]}]}', '{"evals": [{"fixtures": [{"a": 1, "a": 2}]}]}',
        '{"evals": [{"fixtures": [NaN]}]}', '{"evals": [{"fixtures": ["\\ud800"]}]}', '{"\\ud800": 1}',
        '{"evals": [{"fixtures": [1e999]}]}', "{1: 2}", '{["a"]: 2}',
        json.dumps({"evals": [{"fixtures": [0]}]})[:-1],
        '{"evals": [{"fixtures": [' + "[" * 101 + "]" * 101 + "]}]}",
    ],
)  # fmt: skip
def test_in_parts_it_refuses_the_same(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        read_json_parts(text, ("evals", "fixtures"), lambda one: one, depth=DEPTH_LIMIT)
