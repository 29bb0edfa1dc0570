"""`similar` by embeddings: the cosine that a model's vectors give, and what is no measurement."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import pytest

from gateval.assertions.assess import assess
from gateval.assertions.text import cosine
from gateval.domain.trials.model_call import InputReply, Usage
from gateval.domain.trials.trial import Assessment
from gateval.ports.model_calls import Embed, ModelCallError, ModelCallFault
from tests.helpers.trials import JUDGE, fixture, said

ASKED: dict[str, Any] = {
    "type": "similar",
    "to": "Paid back.",
    "metric": "embeddings",
    "model": "openai/small",
    "min": 0.6,
}


def giving(*vectors: Sequence[float]) -> Embed:
    """A model that gives these vectors, if it is asked as it should be."""

    async def embed(model: str, texts: tuple[str, ...]) -> InputReply:
        assert (model, texts) == ("openai/small", ("Refunded.", "Paid back."))
        return InputReply(vectors=vectors, usage=Usage(input_tokens=7, output_tokens=0))

    return embed


def found(embed: Embed | None, text: str = " Refunded. ") -> tuple[Assessment, Usage]:
    (assessment,), usage = asyncio.run(assess(fixture(ASKED), said(text), None, JUDGE, embed=embed))
    return assessment, usage


@pytest.mark.parametrize(
    ("vectors", "score", "status"),
    [
        (((1, 0), (2, 0)), 1, "passed"),
        (((3, 4), (1, 0)), 0.6, "passed"),
        (((1, 1), (0, 1)), math.sqrt(0.5), "passed"),
        (((1, 0), (1, 2)), math.sqrt(0.2), "failed"),
        (((1, 0), (-1, 0)), 0, "failed"),
    ],
)
def test_the_cosine_is_the_score(
    vectors: Sequence[Sequence[float]], score: float, status: str
) -> None:
    one, usage = found(giving(*vectors))
    assert one.status.value == status
    assert one.score == pytest.approx(score)
    assert 'like "Paid back." by embeddings of openai/small' in one.reason
    assert usage.input_tokens == 7, "what measuring takes is counted"


@pytest.mark.parametrize(
    "vectors", [((1, 0), (1, 0, 0)), ((0, 0), (1, 0)), ((math.inf, 0), (1, 0))]
)
def test_vectors_that_cannot_be_compared_are_an_error(vectors: Any) -> None:
    assert cosine(*vectors) is None
    one, _ = found(giving(*vectors))
    assert (one.status.value, one.cause) == ("error", "provider")


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (ModelCallFault.OUTAGE, "provider"),
        (ModelCallFault.REJECTED, "provider"),
        (ModelCallFault.UNCONFIGURED, "gate"),
    ],
)
def test_a_model_that_does_not_answer_is_an_error(fault: ModelCallFault, cause: str) -> None:
    async def embed(_model: str, _texts: tuple[str, ...]) -> InputReply:
        raise ModelCallError(fault, "It is out.")

    one, _ = found(embed)
    assert (one.status.value, one.cause) == ("error", cause)
    assert one.reason == "Openai/small gave no embeddings: It is out."
    assert found(None)[0].status.value == "error", "and so is nobody to ask"
