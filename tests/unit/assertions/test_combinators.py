"""`all`, `any` and `not`: three-valued logic, what decided it, and the holes of a negation."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gateval.assertions.assess import assess
from gateval.domain.trials.trial import Answer
from gateval.judging.judge import Judge
from tests.helpers.scripted_calls import ScriptedCalls, says
from tests.helpers.trials import JUDGE, assessed, called, fixture, said, trace

YES = {"type": "contains", "value": "a"}
NO = {"type": "contains", "value": "z"}
LOST = {"type": "cost", "maxTokens": 5}
"""An error: nobody counted the tokens of this answer."""


def made(kind: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "assertions": list(parts)}


@pytest.mark.parametrize(
    ("parts", "every", "some", "none"),
    [
        ([YES], "passed", "passed", "failed"),
        ([NO], "failed", "failed", "passed"),
        ([LOST], "error", "error", "error"),
        ([YES, YES], "passed", "passed", "failed"),
        ([YES, NO], "failed", "passed", "failed"),
        ([NO, NO], "failed", "failed", "passed"),
        ([YES, LOST], "error", "passed", "failed"),
        ([NO, LOST], "failed", "error", "error"),
        ([YES, NO, LOST], "failed", "passed", "failed"),
    ],
)
def test_what_could_not_be_evaluated_is_neither_true_nor_false(
    parts: list[dict[str, Any]], every: str, some: str, none: str
) -> None:
    for kind, status in (("all", every), ("any", some), ("not", none)):
        found = assessed(made(kind, *parts), said("a"))
        assert found.status.value == status, kind
        assert (found.score is None) == (status == "error")
        assert (found.cause is None) == (status != "error")


def test_the_reason_tells_which_parts_decided_and_why() -> None:
    found = assessed(made("all", YES, NO, made("any", NO, NO)), said("a"))
    assert found.reason == (
        'Expected all 3 assertions to pass, saw that `contains` failed (Expected "z" in the final '
        'message, saw "a"); `any` failed (Expected at least one of 2 assertions to pass, saw that '
        '`contains` failed (Expected "z" in the final message, saw "a"); `contains` failed '
        '(Expected "z" in the final message, saw "a")).'
    )
    assert [(part.type, part.index, part.at) for part in found.parts] == [
        ("contains", 0, (1,)),
        ("any", 0, (2,)),
    ]
    assert [part.at for part in found.parts[1].parts] == [(2, 0), (2, 1)]
    assert found.steps == (2,)


def test_reasons_stay_short_however_deep() -> None:
    deep = made("any", *[made("any", *[made("any", *[NO] * 9)] * 9)] * 9)
    found = assessed(deep, said("a" * 5000))
    assert len(found.reason) < 1500
    assert "; and 6 more" in found.reason


def test_an_error_names_what_could_not_be_evaluated() -> None:
    found = assessed(made("all", YES, LOST), said("a"))
    assert found.reason.startswith("Expected all 2 assertions to pass, but `cost` could not be")
    assert [part.type for part in found.parts] == ["cost"]


def test_the_score_is_that_of_the_part_that_decided() -> None:
    near = {"type": "similar", "to": "kitten", "min": 0.9}
    far = {"type": "similar", "to": "kit", "min": 0.9}
    sitting = pytest.approx(1 - 3 / 7)
    found = {kind: assessed(made(kind, near, far), said("sitting")) for kind in ("all", "any")}
    assert found["any"].score == sitting
    assert found["all"].score == pytest.approx(2 / 7)
    assert assessed(made("not", near), said("sitting")).score == pytest.approx(3 / 7)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "contains", "value": "x", "field": "reply"},
        {"type": "startsWith", "value": "x", "field": "reply"},
        {"type": "regex", "pattern": "x", "field": "reply"},
        {"type": "equals", "value": 1, "field": "reply"},
        {"type": "jsonSchema", "schema": {"type": "object"}},
        {"type": "numeric", "value": 3},
        {"type": "similar", "to": "x", "min": 0.5, "field": "reply"},
    ],
    ids=lambda part: part["type"],
)
@pytest.mark.parametrize("around", [[], ["all"], ["any"], ["any", "all"]])
def test_where_there_is_nothing_to_look_at_a_negation_fails_too(
    part: dict[str, Any], around: list[str]
) -> None:
    for kind in around:
        part = made(kind, part)
    found = assessed(made("not", part), said("no JSON, no number"))
    assert found.status.value == "failed"
    assert found.absent


def test_that_something_is_no_json_can_be_asked_for() -> None:
    assert assessed(made("not", {"type": "isJson"}), said("prose")).status.value == "passed"


@pytest.mark.parametrize(
    "part",
    [
        {"type": "toolCalled", "tool": "refund"},
        {"type": "toolSequence", "tools": ["refund"]},
        {"type": "toolArguments", "tool": "refund", "arguments": {}},
    ],
    ids=lambda part: part["type"],
)
def test_asking_for_a_tool_that_is_refused_counts_where_it_is_forbidden(
    part: dict[str, Any],
) -> None:
    for answer in (called("refund!"), called("refund")):
        found = assessed(made("not", made("any", part)), answer)
        assert (found.status.value, found.steps) == ("failed", (2,))
    assert assessed(made("not", part), called("other")).status.value == "passed"
    assert assessed(part, called("refund!")).status.value == "failed"


def test_a_claimed_trace_without_a_step_proves_no_absence() -> None:
    answer = Answer(output="Done.", trace=trace(source="candidate"), seconds=1)
    found = assessed(made("not", {"type": "toolCalled", "tool": "refund"}), answer)
    assert found.status.value == "error"
    assert "without a single step" in found.reason


def test_what_rests_on_a_claim_says_so() -> None:
    claims = Answer(output="a", trace=trace("says: a", source="candidate"), seconds=1)
    quiet = {"type": "toolNotCalled", "tool": "refund"}
    assert assessed(made("all", YES, quiet), claims).claimed
    assert not assessed(made("any", YES, quiet), claims).claimed
    assert assessed(made("any", NO, quiet), claims).claimed
    assert assessed(made("not", {"type": "toolCalled", "tool": "refund"}), claims).claimed


@pytest.mark.parametrize("kind", ["not", "toolNotCalled", "notContains", "judge"])
@pytest.mark.parametrize("around", [[], ["all"], ["any", "all"]])
def test_what_cannot_be_turned_round_is_refused(kind: str, around: list[str]) -> None:
    inner: dict[str, Any] = {"type": kind}
    for each in around:
        inner = made(each, inner)
    found = assessed(made("not", inner), said("a"))
    assert found.status.value == "error"
    assert f"`{kind}` may not stand in a `not`" in found.reason


@pytest.mark.parametrize("kind", ["all", "any", "not"])
def test_without_parts_it_asks_nothing_and_is_refused(kind: str) -> None:
    assert assessed({"type": kind, "assertions": []}, said("a")).status.value == "error"
    assert assessed({"type": kind}, said("a")).status.value == "error"


def test_a_judge_inside_is_asked_and_paid_for_with_its_evidence() -> None:
    violation = {"rule": "ask", "severity": "high", "evidence_step": 2, "quote": "refunded"}
    said_by = {"score": 0, "confidence": 1, "summary": "So.", "what_would_raise_score": ""}
    reply = json.dumps(said_by | {"violations": [violation]})
    judge = Judge(ScriptedCalls([says(reply, tokens=(7, 3))]))
    written = fixture(made("any", NO, {"type": "judge", "rubric": "Asks first."}))
    (found,), spent = asyncio.run(assess(written, said("I refunded it."), judge, JUDGE))
    assert found.status.value == "failed"
    assert spent.total == 10
    verdict = found.parts[1].verdict
    assert verdict is not None
    assert verdict.violations[0].quote == "refunded"
