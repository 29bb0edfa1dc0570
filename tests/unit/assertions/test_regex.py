from __future__ import annotations

import time
from typing import Any

import pytest
from pydantic import ValidationError

from gateval.assertions.text import Regex
from tests.helpers.trials import assessed, said


@pytest.mark.parametrize(
    ("output", "options", "status"),
    [
        ("order 123 ok", {"pattern": r"\d{3}"}, "passed"),
        ("order 12 ok", {"pattern": r"^\d{3}$"}, "failed"),
        ("a\nb", {"pattern": "(?m)^b$"}, "passed"),
        ("REFUND", {"pattern": "(?i)refund"}, "passed"),
        ("Grüße", {"pattern": r"\p{L}{5}"}, "passed"),
        ("\ud800x", {"pattern": "x"}, "passed"),
        ('{"a": "b1"}', {"pattern": "^b1$", "field": "a"}, "passed"),
        ("text", {"pattern": ".", "field": "a"}, "failed"),
        ("", {"pattern": "^$"}, "passed"),
    ],
)
def test_searches(output: str, options: dict[str, Any], status: str) -> None:
    found = assessed({"type": "regex", **options}, said(output))
    assert (found.status.value, found.steps) == (status, (2,))


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(?=a)b", r"invalid perl operator: \(\?=.*no look-around"),
        (r"(a)\1", "invalid escape sequence"),
        ("(", "missing"),
        ("a{1000}{1000}", "bad repetition"),
        ("[^a]{1000}" * 50, "too large"),
        ("x" * 1001, "at most 1000"),
        ("\ud800", "valid string|surrogate"),
        ("", "at least 1"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_when_read(
    pattern: str, why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValidationError, match=why):
        Regex(pattern=pattern)
    assert capfd.readouterr().err == "", "RE2 must not log by itself"


def test_evil_patterns_take_no_time() -> None:
    text = "a" * 90_000 + "!"
    begin = time.process_time()
    for pattern in (r"(a+)+$", r"^(a|a)*$", r"(a*)*b", r"(?:a?){200}a{200}b"):
        assert assessed({"type": "regex", "pattern": pattern}, said(text)).status.value == "failed"
    assert time.process_time() - begin < 2


def test_a_text_that_is_too_long_is_an_error() -> None:
    found = assessed({"type": "regex", "pattern": "x"}, said("x" * 100_001))
    assert (found.status.value, found.score) == ("error", None)
    assert "100,001 characters" in found.reason


def test_says_what_it_expected_and_saw() -> None:
    found = assessed({"type": "regex", "pattern": r"\d+"}, said("it costs 12 euro"))
    assert found.reason == r'Expected a match of /\d+/ in the final message, saw "12".'
    found = assessed({"type": "regex", "pattern": r"\d+"}, said("it is free"))
    assert found.reason == r'Expected a match of /\d+/ in the final message, saw "it is free".'
