"""JSONPaths from a pull request: the value they name, what is refused, and what they may cost."""

from __future__ import annotations

import time

import pytest
from pydantic import JsonValue

from gateval.candidates.bounded import Nothing, PathError, check_path, find

DOCUMENT: JsonValue = {
    "reply": "hi",
    "choices": [{"message": {"content": "one"}}],
    "parts": [{"type": "note", "text": "no"}, {"type": "text", "text": "yes", "deep": {"only": 1}}],
    "odd key": None,
}

FOUND: list[tuple[str, JsonValue]] = [
    ("$.reply", "hi"),
    ("$['odd key']", None),
    ("$.choices[0].message.content", "one"),
    ("$.choices[-1].message.content", "one"),
    ("$.parts[?@.type == 'text'].text", "yes"),
    ("$.parts[?@.type == 'text' && length(@.text) > 2].text", "yes"),
    ("$..only", 1),
    ("$.parts[1:].deep.only", 1),
    ("$.choices.*.message.content", "one"),
]


@pytest.mark.parametrize(("expression", "expected"), FOUND)
def test_the_one_value(expression: str, expected: JsonValue) -> None:
    check_path(expression)
    assert find(expression, DOCUMENT) == expected


def test_none_and_many() -> None:
    with pytest.raises(Nothing, match=r"nothing stands at `\$\.gone`"):
        find("$.gone", DOCUMENT)
    with pytest.raises(PathError, match="names more than one value"):
        find("$..text", DOCUMENT)


REFUSED = [
    ("reply", "no JSONPath of RFC 9535"),
    ("$.", "no JSONPath of RFC 9535"),
    ("$.a[", "no JSONPath of RFC 9535"),
    ("$.a[?@.b = 1]", "no JSONPath of RFC 9535"),
    ("$[?match(@.a, '(a+)+$')]", "the function `match` is not available"),
    ("$[?search(@.a, '(a|a)*b')]", "the function `search` is not available"),
    ("$[?!(search(@.a, '(a|a)*b') && @.b)]", "the function `search` is not available"),
    ("$[?count(@..*) > 1]", "the function `count` is not available"),
    ("$[?value(@..a) == 1]", "a filter can only look at single values"),
    ("$..a..b", "`..` can stand in a JSONPath once"),
    ("$[*,*][*,*][*,*][*,*][*,*]", "only one selector can stand between brackets"),
    ("$[0,0,0,0]", "only one selector can stand between brackets"),
    ("$[?@[?@[?@[?@.a]]]]", "a filter can only look at single values"),
    ("$[?@..a]", "a filter can only look at single values"),
    ("$[?$.*]", "a filter can only look at single values"),
    ("$" + ".a" * 200, "a JSONPath may have 300 characters"),
    ("$[?" + "(" * 140 + "@.a" + ")" * 140 + "]", ""),
    ("$[" + "9" * 30 + "]", "no JSONPath of RFC 9535"),
]


@pytest.mark.parametrize(("expression", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused_when_the_manifest_is_read(expression: str, expected: str) -> None:
    began = time.process_time()
    if expected:
        with pytest.raises(PathError) as refused:
            check_path(expression)
        assert expected in str(refused.value)
    else:
        check_path(expression)
    assert time.process_time() - began < 1


def test_the_cost_is_bounded() -> None:
    flat: JsonValue = [0] * 500_000
    deep: JsonValue = 1
    for _ in range(99):
        deep = {"a": deep}
    costly = "$..[?@.a == 1 && @.b == 2 && @.c == 3 && @.d == 4]"
    began = time.process_time()
    with pytest.raises(PathError, match="would look at too many values"):
        find(costly, flat)
    with pytest.raises(Nothing):
        find(costly, [0] * 30_000)
    with pytest.raises(Nothing):
        find("$..zz", deep)
    assert find("$[0]", flat) == 0
    assert time.process_time() - began < 8
