"""Whose family a model is of."""

from __future__ import annotations

import pytest

from gateval.domain.manifests.families import family


@pytest.mark.parametrize(
    ("model", "maker"),
    [
        ("openai/gpt-5", "OpenAI"),
        ("openrouter/openai/gpt-4o-mini", "OpenAI"),
        ("azure/o3-mini", "OpenAI"),
        ("ollama/olmo2:7b", "ollama"),
        ("anthropic/claude-sonnet-4-5", "Anthropic"),
        ("bedrock/eu.anthropic.claude-opus-4-6-v1:0", "Anthropic"),
        ("gemini/gemini-2.5-flash", "Google"),
        ("groq/meta-llama/llama-4-scout", "Meta"),
        ("groq/llama-3.3-70b", "Meta"),
        ("ollama/deepseek-r1-distill-llama-70b", "DeepSeek"),
        ("mistral/magistral-small", "Mistral"),
        ("ollama/phi4", "Microsoft"),
        ("local/graphics-model", "local"),
        ("scripted/gpt", ""),
    ],
)
def test_the_maker_is_read_from_the_name(model: str, maker: str) -> None:
    assert family(model) == maker
