"""Which endpoint a candidate asks for, and which model it means."""

from __future__ import annotations

import pytest

from gateval.gateway.local.routing import Place, find, route

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


@pytest.mark.parametrize(
    ("requested", "home", "expected"),
    [
        ("anthropic/claude-5", "openrouter", "openrouter/anthropic/claude-5"),
        ("openrouter/x/y", "openrouter", "openrouter/x/y"),
        ("scripted/other", "azure", "scripted/other"),
        ("support", "azure", "scripted/support"),
        ("gpt", "azure", "azure/gpt"),
        ("openai/gpt", "azure", "azure/openai/gpt"),
        ("gemini-3", "gemini", "gemini/gemini-3"),
    ],
)
def test_an_address_of_its_own_means_its_own_models(
    requested: str, home: str, expected: str
) -> None:
    assert route(requested, MODELS, "openai-chat", home) == expected


def test_of_two_models_by_the_same_name_the_addresss_own_is_meant() -> None:
    models = ("openai/gpt", "azure/gpt")
    assert route("gpt", models, "openai-chat") == "openai/gpt"
    assert route("gpt", models, "openai-chat", "azure") == "azure/gpt"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/v1/chat/completions", Place("openai-chat")),
        ("/chat/completions", Place("openai-chat")),
        ("/v1/messages", Place("anthropic-messages")),
        ("/messages", Place("anthropic-messages")),
        ("/responses", Place("openai-responses")),
        ("/openrouter/v1/chat/completions", Place("openai-chat", "openrouter")),
        ("/openrouter/embeddings", Place("openai-embeddings", "openrouter")),
        ("/azure/openai/v1/responses", Place("openai-responses", "azure")),
        (
            "/azure/openai/deployments/my.gpt-4_o/chat/completions",
            Place("openai-chat", "azure", "my.gpt-4_o"),
        ),
        ("/v1/deployments/d/embeddings", Place("openai-embeddings", "azure", "d")),
        (
            "/gemini/v1beta/models/scripted/desk:generateContent",
            Place("gemini-content", "gemini", "scripted/desk"),
        ),
        (
            "/gemini/v1/models/g:streamGenerateContent",
            Place("gemini-content", "gemini", "g", streams=True),
        ),
        ("/gemini/models/g:embedContent", Place("gemini-embedding", "gemini", "g")),
        ("/gemini/v1/models/g:batchEmbedContents", Place("gemini-embeddings", "gemini", "g")),
        ("/v1/chat/v1/completions", None),
        ("/v1/v1/messages", None),
        ("/gemini/v1/models/g:", None),
        ("/gemini/v1/models/g", None),
        ("/gemini", None),
        ("/azure/chat/completions", None),
        ("", None),
    ],
)
def test_find(path: str, place: Place | None) -> None:
    assert find("POST", path) == place


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/v1/models", Place("")),
        ("/models", Place("")),
        ("/v1/models/org/llama", Place("", "", "org/llama")),
        ("/gemini/v1beta/models", Place("", "gemini")),
        ("/azure/openai/models", Place("", "azure")),
        ("/v1/models/", None),
        ("/v1/models/../files", None),
        ("/v1/chat/completions", None),
    ],
)
def test_the_list_of_models(path: str, place: Place | None) -> None:
    assert find("GET", path) == place
