"""What went wrong, in one word and in one sentence."""

from __future__ import annotations

import pytest

from gateval.gateway.upstream.retry import fault_of, http_status, status_error, unreadable
from gateval.ports.model_calls import ModelCallError, ModelCallFault


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (400, ModelCallFault.REJECTED),
        (401, ModelCallFault.DENIED),
        (402, ModelCallFault.DENIED),
        (403, ModelCallFault.DENIED),
        (404, ModelCallFault.REJECTED),
        (408, ModelCallFault.OUTAGE),
        (422, ModelCallFault.REJECTED),
        (429, ModelCallFault.OUTAGE),
        (500, ModelCallFault.OUTAGE),
        (529, ModelCallFault.OUTAGE),
        (302, ModelCallFault.UNREADABLE),
        (101, ModelCallFault.UNREADABLE),
    ],
)
def test_statuses(status: int, fault: ModelCallFault) -> None:
    assert fault_of(status) is fault


def test_sentences() -> None:
    error = status_error("openai", 404, "No model `x`.")
    assert (
        error.message
        == "openai answered 404 (no such model or address; look at spec.models of the Agent or judge.model of the Eval): No model `x`."
    )
    assert status_error("vllm", 418, "").message == "vllm answered 418."
    assert unreadable("vllm", "no JSON").message == "vllm answered with no JSON."


@pytest.mark.parametrize(
    ("fault", "status", "expected"),
    [
        (ModelCallFault.OUTAGE, 429, 429),
        (ModelCallFault.OUTAGE, None, 503),
        (ModelCallFault.UNREADABLE, 307, 502),
        (ModelCallFault.UNCONFIGURED, None, 400),
    ],
)
def test_what_a_candidate_gets(fault: ModelCallFault, status: int | None, expected: int) -> None:
    assert http_status(ModelCallError(fault, "x", status=status)) == expected
