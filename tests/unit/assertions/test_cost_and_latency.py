from __future__ import annotations

import pytest

from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trial import Answer
from tests.helpers.trials import Source, assessed, trace


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


def test_half_known_usage_is_unknown() -> None:
    answer = Answer(output="x", usage=Usage(input_tokens=5), seconds=1)
    found = assessed({"type": "cost", "maxTokens": 100}, answer)
    assert (found.status.value, found.cause and found.cause.value) == ("error", "gate")


@pytest.mark.parametrize(("limit", "status"), [(2, "passed"), (2.5, "passed"), (1.99, "failed")])
def test_latency_is_inclusive(limit: float, status: str) -> None:
    found = assessed({"type": "latency", "maxSeconds": limit}, used(1, None, None))
    assert found.status.value == status
    assert found.reason == f"Expected an answer within {limit:g} s, saw it after 2.000 s."
