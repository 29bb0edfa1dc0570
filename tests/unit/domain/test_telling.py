"""What a promoted fixture asks for, of long records too."""

from __future__ import annotations

import time

import pytest

from gateval.domain.manifests.fixture import FixtureInput, InputType
from gateval.domain.promotion import (
    Promoter,
    PromotionTarget,
    Recorded,
    RecordedToolCall,
    propose,
    telling_part,
)


@pytest.mark.parametrize(
    ("output", "sources", "part"),
    [
        ("Order 10482 cost 17.50 EUR on 2026-01-02.", ['{"amount":17.50}'], "17.50"),
        ("Order 10482 cost 17.50 EUR.", ["Where is 10482?", "17.50"], "10482"),
        ("It cost $1,200.00, all told.", [], "$1,200.00"),
        ("Ticket REF-77 is open.", ["open a ticket"], "REF-77"),
        ("See https://shop.example/r/77.", [], "https://shop.example/r/77"),
        ("Write to jane@example.com!", [], "jane@example.com"),
        ("You have 3 left of the second kind.", ["the second"], "second"),
        ("answer: 4", ["What is 2 + 2?"], "answer: 4"),
        ("Schöne Grüße aus Köln!", ["Grüße nach Köln"], "Grüße"),
        ("  First line.\nAnother.", [], "First line."),
        ("word " * 40, [], "word " * 11 + "word"),
        ("x" * 100, [], "x" * 60),
        ("", [], ""),
        (" \n ", [], ""),
    ],
)
def test_what_is_asked_for(output: str, sources: list[str], part: str) -> None:
    assert telling_part(output, sources) == part
    assert part in output


@pytest.mark.parametrize(
    ("output", "source"),
    [
        ("a" * 60_000, ""),
        (" ".join(f"{n:06}" for n in range(60_000)), " ".join(f"{n}" for n in range(60_000))),
    ],
)
def test_what_is_long_is_looked_at_in_time(output: str, source: str) -> None:
    begun = time.process_time()
    assert telling_part(output, [source]) in output
    assert time.process_time() - begun < 4


def test_calls_by_the_thousand_are_compared_once_each() -> None:
    calls = tuple(
        RecordedToolCall(tool="look_up", arguments={"order": n}, answered=True)
        for n in range(3_000)
    )
    run = Recorded(input=FixtureInput(type=InputType.PROMPT, payload={"prompt": "q"}), calls=calls)
    begun = time.process_time()
    found = propose(run, PromotionTarget(agent="desk", replayed=None), Promoter(), ())
    assert time.process_time() - begun < 4
    spec = found["spec"]
    assert isinstance(spec, dict)
    replayed = spec["toolReplay"]
    assert isinstance(replayed, list)
    assert len(replayed) == 3_000
