"""The model providers we can call. A new one with a known wire format is one line here.

Azure's v1 endpoint speaks OpenAI's format: use `openai/DEPLOYMENT` with OPENAI_BASE_URL set to
`https://RESOURCE.openai.azure.com/openai/v1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

GOOGLE_URL = "https://generativelanguage.googleapis.com/v1beta/openai"
"""Google's endpoint in OpenAI's format: https://ai.google.dev/gemini-api/docs/openai."""


class Provider(NamedTuple):
    """Where a provider is and how it is spoken to.

    `wires` names the wire formats; the gate's own calls use the first. `prefix` begins the names
    of the environment variables.
    `default_url` is empty when only the person who runs the server can know it.
    """

    name: str
    wires: tuple[str, ...]
    prefix: str
    default_url: str
    key_optional: bool = False

    @property
    def key_variable(self) -> str:
        """The environment variable that holds the key."""
        return f"{self.prefix}_API_KEY"

    @property
    def url_variable(self) -> str:
        """The environment variable that replaces the base URL."""
        return f"{self.prefix}_BASE_URL"


_ALL = (
    Provider("openai", ("openai-chat", "openai-responses"), "OPENAI", "https://api.openai.com/v1"),
    Provider("anthropic", ("anthropic-messages",), "ANTHROPIC", "https://api.anthropic.com"),
    Provider("openrouter", ("openai-chat",), "OPENROUTER", "https://openrouter.ai/api/v1"),
    Provider("gemini", ("openai-chat",), "GEMINI", GOOGLE_URL),
    Provider("google", ("openai-chat",), "GEMINI", GOOGLE_URL),
    Provider("vllm", ("openai-chat",), "VLLM", "", key_optional=True),
    Provider("ollama", ("openai-chat",), "OLLAMA", "http://127.0.0.1:11434/v1", key_optional=True),
)

PROVIDERS: Mapping[str, Provider] = {provider.name: provider for provider in _ALL}

PREFIXES = frozenset(provider.prefix for provider in _ALL)
"""How the names of all their variables begin."""


def home_provider(wire: str) -> str:
    """Return the provider that a wire format belongs to: the first that speaks it."""
    return next(provider.name for provider in _ALL if wire in provider.wires)
