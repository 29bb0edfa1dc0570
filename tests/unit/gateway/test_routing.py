"""Which model a candidate means."""

from __future__ import annotations

import pytest

from gateval.gateway.local.routing import route

MODELS = ("openrouter/anthropic/claude-4", "scripted/support", "vllm/org/llama")


@pytest.mark.parametrize(
    ("requested", "wire", "expected"),
    [
        ("anthropic/claude-4", "openai-chat", "openrouter/anthropic/claude-4"),
        ("support", "openai-chat", "scripted/support"),
        ("support", "anthropic-messages", "scripted/support"),
        ("scripted/support", "openai-chat", "scripted/support"),
        ("scripted/other", "openai-chat", "scripted/other"),
        ("org/llama", "openai-chat", "vllm/org/llama"),
        ("org/other", "openai-chat", "openai/org/other"),
        ("ollama/llama", "anthropic-messages", "ollama/llama"),
        ("gpt-5", "openai-chat", "openai/gpt-5"),
        ("claude-4", "anthropic-messages", "anthropic/claude-4"),
        ("openai/", "openai-chat", "openai/openai/"),
        ("", "openai-chat", "openai/"),
    ],
)
def test_route(requested: str, wire: str, expected: str) -> None:
    assert route(requested, MODELS, wire) == expected
