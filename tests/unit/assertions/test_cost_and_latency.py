from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from gateval.assertions.limits import Cost
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trial import Answer
from tests.helpers.trials import Source, assessed, said, trace


def used(reported: int | None, counted: int | None, source: Source | None) -> Answer:
    def usage(total: int | None) -> Usage:
        return Usage() if total is None else Usage(input_tokens=total, output_tokens=0)

    steps = trace("user: hi", source=source, usage=usage(counted)) if source else None
    return Answer(output="x", usage=usage(reported), trace=steps, seconds=2)


@pytest.mark.parametrize(
    ("reported", "counted", "source", "status", "saw"),
    [
        (100, None, None, "passed", "saw 100 as the candidate reports."),
        (101, None, None, "failed", "saw 101 as the candidate reports."),
        (None, 100, "gateway", "passed", "saw 100."),
        (1, 5000, "gateway", "failed", "saw 5,000."),
        (5000, 1, "gate", "passed", "saw 1."),
        (7, None, "gateway", "passed", "saw 7 as the candidate reports."),
        (None, 8, "candidate", "passed", "saw 8 as the candidate reports."),
        (9, 8, "candidate", "passed", "saw 9 as the candidate reports."),
        (None, None, None, "error", "The tokens of this trial are unknown; let the candidate"),
        (None, None, "gateway", "error", "or print `usage`."),
    ],
)
def test_cost_is_inclusive_and_believes_the_gate_first(
    reported: int | None, counted: int | None, source: Source | None, status: str, saw: str
) -> None:
    found = assessed({"type": "cost", "maxTokens": 100}, used(reported, counted, source))
    assert found.status.value == status
    assert saw in found.reason


def paid(usd: float | None, source: Source = "gateway", *unpriced: str) -> Answer:
    usage = Usage(input_tokens=90, output_tokens=20, usd=usd, unpriced=unpriced)
    return Answer(output="x", trace=trace("user: hi", source=source, usage=usage), seconds=2)


@pytest.mark.parametrize(
    ("asked", "answer", "status", "reason"),
    [
        ({"maxUSD": 0.01}, paid(0.01), "passed", "Expected at most $0.01, saw $0.01."),
        ({"maxUSD": 0.01}, paid(0.0100001), "failed", "at most $0.01, saw $0.0100001."),
        ({"maxUSD": 0}, paid(0.0), "passed", "Expected at most $0, saw $0."),
        ({"maxUSD": 0}, paid(1e-7), "failed", "Expected at most $0, saw $0.0000001."),
        (
            {"maxTokens": 110, "maxUSD": 0.01},
            paid(0.005),
            "passed",
            "Expected at most 110 tokens and at most $0.01, saw 110 and $0.005.",
        ),
        ({"maxTokens": 110, "maxUSD": 0.001}, paid(0.005), "failed", "at most $0.001, saw"),
        ({"maxTokens": 109, "maxUSD": 1}, paid(None), "failed", "at most 109 tokens, saw 110."),
        ({"maxUSD": 1}, paid(None, "gateway", "vllm/a"), "error", "knows a price of vllm/a"),
        ({"maxUSD": 1}, paid(None, "candidate"), "error", "The money that this trial cost is"),
        ({"maxUSD": 1}, said("x"), "error", "The money that this trial cost is unknown"),
    ],
)
def test_money(asked: dict[str, Any], answer: Answer, status: str, reason: str) -> None:
    found = assessed({"type": "cost", **asked}, answer)
    assert (found.status.value, reason in found.reason) == (status, True), found.reason


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "Write `maxTokens`, `maxUSD` or both."),
        ({"maxUSD": -0.01}, "greater than or equal to 0"),
        ({"maxEUR": 1}, "maxEUR"),
        ({"maxUsd": 1}, "maxUsd"),
        ({"maxUSD": float("inf")}, "maxUSD"),
    ],
)
def test_wrong_limits_are_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Cost.model_validate_json(json.dumps(asked), strict=True, by_alias=True, by_name=False)
    assert said in str(refused.value)


def test_half_known_usage_is_unknown() -> None:
    answer = Answer(output="x", usage=Usage(input_tokens=5), seconds=1)
    found = assessed({"type": "cost", "maxTokens": 100}, answer)
    assert (found.status.value, found.cause and found.cause.value) == ("error", "gate")


@pytest.mark.parametrize(("limit", "status"), [(2, "passed"), (2.5, "passed"), (1.99, "failed")])
def test_latency_is_inclusive(limit: float, status: str) -> None:
    found = assessed({"type": "latency", "maxSeconds": limit}, used(1, None, None))
    assert found.status.value == status
    assert found.reason == f"Expected an answer within {limit:g} s, saw it after 2.000 s."
