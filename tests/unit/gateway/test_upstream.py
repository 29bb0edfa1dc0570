"""Environment variables to upstreams."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gateval.errors import UsageError
from gateval.gateway.upstream.endpoints import (
    PROVIDERS,
    home_provider,
    missing_keys,
    read_upstreams,
)
from gateval.wire.registry import FORMATS, WIRE_FORMATS

CANARY = "sk-canary-0123456789"


def test_every_provider_speaks_a_known_format() -> None:
    spoken = {
        wire for provider in PROVIDERS.values() for wire in (*provider.wires, *provider.native)
    }
    assert spoken == set(FORMATS)
    assert all(provider.wires[0] in WIRE_FORMATS for provider in PROVIDERS.values())
    assert {wire: home_provider(wire) for wire in FORMATS} == {
        "openai-chat": "openai",
        "openai-responses": "openai",
        "anthropic-messages": "anthropic",
        "gemini-content": "gemini",
        "openai-embeddings": "openai",
        "openai-moderations": "openai",
        "gemini-embeddings": "gemini",
        "gemini-embedding": "gemini",
    }


@pytest.mark.parametrize(
    "endpoint",
    ["https://r.openai.azure.com", "https://r.openai.azure.com/openai/v1/"],
)
def test_azure_is_known_by_its_own_variables(endpoint: str) -> None:
    upstreams = read_upstreams({"AZURE_OPENAI_ENDPOINT": endpoint, "AZURE_OPENAI_API_KEY": CANARY})
    azure = upstreams["azure"]
    assert azure.address("openai-chat", "/chat/completions", "gpt") == (
        "https://r.openai.azure.com/openai/v1/chat/completions"
    )
    assert missing_keys(["azure/gpt"], upstreams) == ()
    assert missing_keys(["azure/gpt"], read_upstreams({})) == (
        "azure/gpt needs AZURE_OPENAI_ENDPOINT.",
    )


def test_googles_own_formats_are_spoken_beside_openais() -> None:
    gemini = read_upstreams({"GEMINI_API_KEY": CANARY})["gemini"]
    assert gemini.address("openai-chat", "/chat/completions", "g").endswith(
        "/v1beta/openai/chat/completions"
    )
    assert gemini.address("gemini-content", "/models/{model}:generateContent", "a/../b") == (
        "https://generativelanguage.googleapis.com/v1beta/models/a%2F..%2Fb:generateContent"
    )
    proxied = read_upstreams({"GEMINI_BASE_URL": "https://gateway.example/v1"})["gemini"]
    assert not proxied.speaks("gemini-content"), "a gateway that speaks OpenAI's format only"
    assert proxied.speaks("openai-chat")


def test_defaults() -> None:
    upstreams = read_upstreams({"OPENAI_API_KEY": f" {CANARY}\n", "ANTHROPIC_API_KEY": ""})
    assert "vllm" not in upstreams, "only the person who runs it knows where it is"
    assert upstreams["openai"].base_url == "https://api.openai.com/v1"
    assert upstreams["anthropic"].key is None
    key = upstreams["openai"].key
    assert key is not None
    assert key.get_secret_value() == CANARY
    assert CANARY not in f"{upstreams!r} {upstreams['openai'].model_dump_json()}"


def test_base_urls_can_be_replaced() -> None:
    upstreams = read_upstreams({"VLLM_BASE_URL": "http://10.0.0.1:8000/v1/"})
    assert upstreams["vllm"].base_url == "http://10.0.0.1:8000/v1"


@pytest.mark.parametrize(
    "url",
    [
        "api.example.com/v1",
        "ftp://example.com",
        "http://",
        "http://user:hidden@example.com/v1",
        "http://hidden@example.com",
        "http://example.com/?key=hidden",
        "http://example.com/#hidden",
        "http://exa mple.com/hidden",
        "http://example.com:99999/hidden",
        "http://[::1/hidden",
        "http://example.com/\nhidden",
        "file:///etc/passwd",
    ],
)
def test_bad_base_urls_are_named_but_not_repeated(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_upstreams({"OPENAI_BASE_URL": url})
    assert caught.value.message.startswith("OPENAI_BASE_URL ")
    assert "hidden" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("key", [f"{CANARY}\r\nX-Evil: 1", f"“{CANARY}”", f"{CANARY}\x00"])
def test_a_key_that_no_header_can_carry_is_refused(key: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_upstreams({"ANTHROPIC_API_KEY": key})
    assert caught.value.message.startswith("ANTHROPIC_API_KEY ")
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        ("openai/gpt-5", "openai/gpt-5 needs OPENAI_API_KEY."),
        ("anthropic/claude", ""),
        ("scripted/support", ""),
        ("ollama/llama3", "ollama/llama3 needs OLLAMA_BASE_URL."),
        ("vllm/llama3", "vllm/llama3 needs VLLM_BASE_URL."),
        ("anthropc/claude", 'anthropc/claude names the unknown provider "anthropc". Did you mean "anthropic"?'),
        ("gpt-5", '"gpt-5" names no provider: write it as provider/model-id.'),
        ("openai/", '"openai/" names no provider: write it as provider/model-id.'),
    ],
)  # fmt: skip
def test_missing_keys(model: str, complaint: str) -> None:
    upstreams = read_upstreams({"ANTHROPIC_API_KEY": CANARY})
    assert missing_keys([model, model], upstreams) == ((complaint,) if complaint else ())


@pytest.mark.parametrize(
    ("environ", "proxied"),
    [
        ({}, False),
        ({"HTTPS_PROXY": "http://proxy:3128"}, True),
        ({"https_proxy": "http://proxy:3128"}, True),
        ({"HTTP_PROXY": "http://proxy:3128"}, False),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "*"}, False),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "x.org, .openai.com"}, False),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "enai.com"}, True),
    ],
)
def test_proxies(environ: dict[str, str], proxied: bool) -> None:
    assert (read_upstreams(environ)["openai"].proxy is not None) == proxied


def test_loopback_is_never_proxied() -> None:
    proxies = {"HTTP_PROXY": "http://user:hidden@proxy:3128"}
    urls = {
        "VLLM_BASE_URL": "http://[::1]:1/v1",
        "OLLAMA_BASE_URL": "http://127.0.0.1:11434/v1",
        "OPENAI_BASE_URL": "http://10.0.0.1/v1",
    }
    upstreams = read_upstreams({**proxies, **urls})
    assert upstreams["vllm"].proxy is None
    assert upstreams["ollama"].proxy is None
    assert upstreams["openai"].proxy is not None
    assert "hidden" not in repr(upstreams)


def test_other_kinds_of_proxy_are_refused() -> None:
    with pytest.raises(UsageError, match="HTTPS_PROXY"):
        read_upstreams({"HTTPS_PROXY": "socks5://proxy:1080"})


def test_reading_the_environment_loads_no_http_library() -> None:
    code = "import sys, gateval.gateway.upstream.endpoints; print({'aiohttp', 'tenacity'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
