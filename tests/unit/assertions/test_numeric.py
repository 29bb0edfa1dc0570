"""`numeric`: which texts are numbers, and how near is near enough."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import pytest

from gateval.assertions.matching import numbers_in, only_number
from tests.helpers.trials import assessed, said


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It is 42.", ["42"]),
        ("1,299.50 EUR, or 2e-3", ["1299.50", "0.002"]),
        ("from -3 to +4, \u22125", ["-3", "4", "-5"]),
        ("(7) 50% $8", ["7", "50", "8"]),
        ("v2 2026-11-24 12:30 1.2.3 10/20 1,2 x1", []),
        ("12,34 and 1,2345", []),
        ("٣", []),
        ("", []),
    ],
)
def test_numbers_in_a_text(text: str, numbers: list[str]) -> None:
    assert numbers_in(text) == [Decimal(one) for one in numbers]


def test_a_text_that_is_a_number() -> None:
    assert only_number(" -1,000.5\n") == Decimal("-1000.5")
    for other in ("4 EUR", "", "nan", "Infinity", "1" * 200, "0x10", "1_000"):
        assert only_number(other) is None


@pytest.mark.parametrize(
    ("output", "options", "met"),
    [
        ("4", {"value": 4}, True),
        ("4.0", {"value": 4}, True),
        ("0.3", {"value": 0.1, "tolerance": 0.2}, True),
        ("0.30001", {"value": 0.1, "tolerance": 0.2}, False),
        ("the answer is 4", {"value": 4}, False),
        ("2 + 2 is 4", {"value": 4, "find": "last"}, True),
        ("2 + 2 is 4", {"value": 2, "find": "first"}, True),
        ('{"sum": 4}', {"value": 4, "field": "sum"}, True),
        ('{"sum": "4"}', {"value": 4, "field": "sum"}, True),
        ('{"sum": true}', {"value": 1, "field": "sum"}, False),
        ('{"sum": [4]}', {"value": 4, "field": "sum"}, False),
        ("four", {"value": 4, "field": "sum"}, False),
    ],
)
def test_near_enough(output: str, options: dict[str, Any], met: bool) -> None:
    found = assessed({"type": "numeric", **options}, said(output))
    assert found.status.value == ("passed" if met else "failed")
    assert found.steps == (2,)


@pytest.mark.parametrize("option", [{"tolerance": -1}, {"value": "4"}, {"find": "all"}])
def test_what_makes_no_sense_is_refused(option: dict[str, Any]) -> None:
    assert assessed({"type": "numeric", "value": 4} | option, said("4")).status.value == "error"


def test_a_message_too_long_to_look_through_is_no_failure() -> None:
    found = assessed({"type": "numeric", "value": 4, "find": "last"}, said("4 " * 60_000))
    assert found.status.value == "error"
    assert "looks through at most 100,000" in found.reason


@pytest.mark.parametrize("unit", ["1", "1,", "1.", "1,111", "-1e", "9" * 39 + "x"])
def test_a_text_made_to_hold_the_gate_is_read_at_once(unit: str) -> None:
    begin = time.process_time()
    numbers_in((unit * 100_000)[:100_000])
    assert time.process_time() - begin < 1
