"""The model providers we can call. A new one with known formats is one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

GOOGLE_URL = "https://generativelanguage.googleapis.com/v1beta/openai"
"""Google's endpoint in OpenAI's format: https://ai.google.dev/gemini-api/docs/openai. Its own
formats are spoken below the same address without `/openai`."""

NATIVE_END = "/openai"

_OPENAI = ("openai-chat", "openai-responses", "openai-embeddings")
_COMPATIBLE = ("openai-chat", "openai-embeddings")
_GOOGLE = ("gemini-content", "gemini-embeddings", "gemini-embedding")


class Provider(NamedTuple):
    """Where a provider is and how it is spoken to.

    `wires` names its formats; the gate's own calls use the first, and the first for embeddings.
    `prefix` begins the names of the environment variables. `default_url` is empty when only the
    person who runs the server can know it: never a port of this machine, where a candidate may
    listen. `native` are formats that it speaks where its base URL
    ends with `NATIVE_END`, at the address before that. `url_name` is the name of the variable for
    the base URL, if it is none of the customary ones, and `below` what is added to its value.
    """

    name: str
    wires: tuple[str, ...]
    prefix: str
    default_url: str
    key_optional: bool = False
    native: tuple[str, ...] = ()
    url_name: str = ""
    below: str = ""

    @property
    def key_variable(self) -> str:
        """The environment variable that holds the key."""
        return f"{self.prefix}_API_KEY"

    @property
    def url_variable(self) -> str:
        """The environment variable that replaces the base URL."""
        return self.url_name or f"{self.prefix}_BASE_URL"


_ALL = (
    Provider("openai", (*_OPENAI, "openai-moderations"), "OPENAI", "https://api.openai.com/v1"),
    Provider("anthropic", ("anthropic-messages",), "ANTHROPIC", "https://api.anthropic.com"),
    Provider("openrouter", _COMPATIBLE, "OPENROUTER", "https://openrouter.ai/api/v1"),
    Provider("gemini", _COMPATIBLE, "GEMINI", GOOGLE_URL, native=_GOOGLE),
    Provider("google", _COMPATIBLE, "GEMINI", GOOGLE_URL, native=_GOOGLE),
    # Azure's endpoint without dated versions, which names the deployment in the body:
    # https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
    Provider(
        "azure", _OPENAI, "AZURE_OPENAI", "", url_name="AZURE_OPENAI_ENDPOINT", below="/openai/v1"
    ),
    Provider("vllm", _COMPATIBLE, "VLLM", "", key_optional=True),
    Provider("ollama", _COMPATIBLE, "OLLAMA", "", key_optional=True),
)

PROVIDERS: Mapping[str, Provider] = {provider.name: provider for provider in _ALL}

PREFIXES = frozenset(provider.prefix for provider in _ALL)
"""How the names of all their variables begin."""


def home_provider(wire: str) -> str:
    """Return the provider that a wire format belongs to: the first that speaks it."""
    return next(provider.name for provider in _ALL if wire in (*provider.wires, *provider.native))
