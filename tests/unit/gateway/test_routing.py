"""Which endpoint a candidate asks for, and which model it means."""

from __future__ import annotations

import pytest

from gateval.gateway.local.session import Endpoint, find, route

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
        ("/v1/chat/completions", Endpoint("openai-chat")),
        ("/chat/completions", Endpoint("openai-chat")),
        ("/v1/messages", Endpoint("anthropic-messages")),
        ("/messages", Endpoint("anthropic-messages")),
        ("/responses", Endpoint("openai-responses")),
        ("/openrouter/v1/chat/completions", Endpoint("openai-chat", "openrouter")),
        ("/openrouter/embeddings", Endpoint("openai-embeddings", "openrouter")),
        ("/azure/openai/v1/responses", Endpoint("openai-responses", "azure")),
        (
            "/azure/openai/deployments/my.gpt-4_o/chat/completions",
            Endpoint("openai-chat", "azure", "my.gpt-4_o"),
        ),
        ("/v1/deployments/d/embeddings", Endpoint("openai-embeddings", "azure", "d")),
        (
            "/gemini/v1beta/models/scripted/desk:generateContent",
            Endpoint("gemini-content", "gemini", "scripted/desk"),
        ),
        (
            "/gemini/v1/models/g:streamGenerateContent",
            Endpoint("gemini-content", "gemini", "g", streams=True),
        ),
        ("/gemini/models/g:embedContent", Endpoint("gemini-embedding", "gemini", "g")),
        ("/gemini/v1/models/g:batchEmbedContents", Endpoint("gemini-embeddings", "gemini", "g")),
        ("/v1/chat/v1/completions", None),
        ("/v1/v1/messages", None),
        ("/gemini/v1/models/g:", None),
        ("/gemini/v1/models/g", None),
        ("/gemini", None),
        ("/azure/chat/completions", None),
        ("", None),
    ],
)
def test_find(path: str, place: Endpoint | None) -> None:
    assert find("POST", path) == place


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/v1/models", Endpoint("")),
        ("/models", Endpoint("")),
        ("/v1/models/org/llama", Endpoint("", "", "org/llama")),
        ("/gemini/v1beta/models", Endpoint("", "gemini")),
        ("/azure/openai/models", Endpoint("", "azure")),
        ("/v1/models/", None),
        ("/v1/models/../files", None),
        ("/v1/chat/completions", None),
    ],
)
def test_the_list_of_models(path: str, place: Endpoint | None) -> None:
    assert find("GET", path) == place
