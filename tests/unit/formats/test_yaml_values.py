"""What values mean: YAML 1.2 core."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from gateval.formats.yaml_reader import read_documents


def value_of(text: str) -> JsonValue:
    documents, problems = read_documents("a.yaml", f"key: {text}\n".encode())
    assert problems == ()
    data = documents[0].data
    assert isinstance(data, dict)
    return data["key"]


def complaint(text: str) -> str:
    _, problems = read_documents("a.yaml", f"key: {text}\n".encode())
    assert len(problems) == 1
    assert problems[0].path == "key"
    assert (problems[0].place.line, problems[0].place.column) == (1, 6)
    return problems[0].message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("NULL", None),
        ("nUll", "nUll"),
        ("true", True),
        ("False", False),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("y", "y"),
        ("12", 12),
        ("012", 12),
        ("-7", -7),
        ("+3", 3),
        ("0o14", 12),
        ("0xFF", 255),
        ("0b1", "0b1"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2026-05-04", "2026-05-04"),
        ("2026-05-04T14:22:01Z", "2026-05-04T14:22:01Z"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("-1.25E-2", -0.0125),
        (".", "."),
        ("1.2.3", "1.2.3"),
        ("--", "--"),
        ("'12'", "12"),
        ('"true"', "true"),
        ('""', ""),
        ("!!str 12", "12"),
        ("! 12", "12"),
        ('!!int "12"', 12),
        ("!!float 1", 1.0),
        ("!!bool true", True),
        ("!!null ''", None),
        ("!!map {a: 1}", {"a": 1}),
        ("!!seq [a]", ["a"]),
        ("=", "="),
        ("<<", "<<"),
        ("|\n  a\n  b\n", "a\nb\n"),
        (">-\n  a\n  b\n", "a b"),
        ('"a\\u2028b"', "a\u2028b"),
        ("😀", "😀"),
        ("9" * 300, int("9" * 300)),
    ],
)
def test_a_value_means_what_yaml_1_2_says(text: str, expected: JsonValue) -> None:
    found = value_of(text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".inf", "no number that JSON can hold"),
        ("-.INF", "no number that JSON can hold"),
        (".nan", "no number that JSON can hold"),
        ("1e999", '"1e999" is too large for a number'),
        ("9" * 5000, "more than 300 characters"),
        ("0x" + "f" * 5000, "more than 300 characters"),
        ("0." + "1" * 5000, "more than 300 characters"),
        ("!!int abc", 'The tag "!!int" asks for a whole number.'),
        ("!!int 1.5", 'The tag "!!int" asks for a whole number.'),
        ("!!bool yes", 'The tag "!!bool" asks for true or false.'),
        ("!!timestamp 2026-01-01", 'The tag "!!timestamp" is not known here. Remove it.'),
        ("!!binary aGk=", 'The tag "!!binary" is not known here. Remove it.'),
        ("!!python/name:os.system x", 'The tag "!!python/name:os.system" is not known here.'),
        ("!!python/object:os.system {}", 'The tag "!!python/object:os.system" is not known here.'),
        ("!!set {a, b}", 'The tag "!!set" is not known here. Remove it.'),
        ("!Ref x", 'The tag "!Ref" is not known here. Remove it.'),
        ("!!map [a]", 'The tag "!!map" is not known here.'),
        ("!<tag:yaml.org,2002:js/undefined> ''", 'The tag "!!js/undefined" is not known here.'),
    ],
)
def test_a_value_without_a_meaning_is_a_problem(text: str, expected: str) -> None:
    assert expected in complaint(text)
