"""Tokens become money by the list that is installed; the figures are the providers' own pages'."""

from __future__ import annotations

import pytest

from gateval.adapters.list_prices import ListPrices
from gateval.domain.trials.model_call import Usage

MILLION = 1_000_000


def tokens(given: int = 0, taken: int = 0, read: int = 0, written: int = 0) -> Usage:
    return Usage(
        input_tokens=given, output_tokens=taken, cached_tokens=read, cache_write_tokens=written
    )


@pytest.mark.parametrize(
    ("model", "usage", "usd"),
    [
        ("openai/gpt-4o", tokens(MILLION), 2.5),
        ("openai/gpt-4o", tokens(MILLION, MILLION), 12.5),
        ("openai/gpt-4o", tokens(MILLION, read=MILLION), 1.25),
        ("openai/text-embedding-3-small", tokens(MILLION), 0.02),
        ("anthropic/claude-haiku-4-5", tokens(MILLION, written=MILLION), 1.25),
        ("google/gemini-2.5-pro", tokens(100_000), 0.125),
        ("gemini/gemini-2.5-pro", tokens(300_000), 0.75),  # a long prompt costs twice as much
        ("openrouter/openai/gpt-4o", tokens(MILLION), 2.5),
        ("openai/gpt-4o", tokens(), 0.0),
    ],
)
def test_prices(model: str, usage: Usage, usd: float) -> None:
    assert ListPrices().price(model, usage) == pytest.approx(usd)


@pytest.mark.parametrize(
    ("model", "usage"),
    [
        ("openai/gpt-99-imagined", tokens(10, 5)),
        ("azure/our-deployment", tokens(10, 5)),
        ("ollama/llama3", tokens(10, 5)),
        ("vllm/gpt-4o", tokens(10, 5)),
        ("openai/gpt-4o", Usage(input_tokens=10)),
        ("openai/gpt-4o", tokens(10, read=11)),  # more from the cache than there was
    ],
)
def test_what_the_list_lacks_has_no_price(model: str, usage: Usage) -> None:
    assert ListPrices().price(model, usage) is None


def test_what_answered_counts_before_what_was_asked() -> None:
    price, usage = ListPrices().price, tokens(MILLION)
    assert price("openai/gpt-4o", usage, answered="gpt-4o-2024-05-13") == 5
    assert price("openai/gpt-4o", usage, answered="something-of-our-own") == 2.5
    assert price("azure/our-deployment", usage, answered="gpt-4o-2024-08-06") == 2.5


def test_a_class_of_service_has_its_own_price() -> None:
    usage = tokens(MILLION, MILLION)
    assert ListPrices().price("openai/o3", usage) == 10
    assert ListPrices().price("openai/o3", usage, tier="flex") == 5
