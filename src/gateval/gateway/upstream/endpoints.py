"""The providers that can be called, where each is reached, and with which key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from pydantic import SecretStr

from gateval.domain.base import Value
from gateval.domain.manifests.evaluation import SCRIPTED_PROVIDER
from gateval.domain.paths import nearest
from gateval.errors import UsageError

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


LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts that are never reached through a proxy."""


class Upstream(Value):
    """A provider as this environment reaches it. `base_url` has no trailing slash.

    `wires` are the formats it speaks; the gate's own calls use the first. Those in `native` it
    speaks at another address.

    `key` is None when the environment has none. `proxy` is the URL of a forward proxy for this
    base URL; it may hold a password and so is kept like a key.
    """

    provider: str
    wires: tuple[str, ...]
    base_url: str
    native: tuple[str, ...] = ()
    key: SecretStr | None = None
    proxy: SecretStr | None = None

    def speaks(self, wire: str) -> bool:
        """Whether it understands a format."""
        return wire in self.wires or wire in self.native

    def address(self, wire: str, path: str, model: str) -> str:
        """Return the URL of the endpoint `path` of a format; see `wire.base.Format`."""
        root = self.base_url.removesuffix(NATIVE_END) if wire in self.native else self.base_url
        return root + (path.replace("{model}", quote(model, safe="")) if "{" in path else path)


def read_upstreams(environ: Mapping[str, str]) -> Mapping[str, Upstream]:
    """Return the upstream of every provider whose address is known, by provider name. Raises
    `UsageError` that names the variable, never its value, when a base URL or a key cannot be used.
    """
    upstreams = {}
    for provider in PROVIDERS.values():
        url = _base_url(provider, environ)
        if url:
            upstreams[provider.name] = Upstream(
                provider=provider.name,
                wires=provider.wires,
                native=provider.native if url.endswith(NATIVE_END) else (),
                base_url=url,
                key=_key(provider, environ),
                proxy=_proxy(url, environ),
            )
    return upstreams


def missing_keys(models: Iterable[str], upstreams: Mapping[str, Upstream]) -> tuple[str, ...]:
    """Return a sentence for each of `models` (`provider/model-id`) that cannot be called. An empty
    result means that nothing is missing. Scripted models need nothing.
    """
    complaints = (_complaint(model, upstreams) for model in dict.fromkeys(models))
    return tuple(complaint for complaint in complaints if complaint)


def has_no_address(model: str, upstreams: Mapping[str, Upstream]) -> bool:
    """Whether a model's provider is known, and nobody said where its server is."""
    name = model.partition("/")[0]
    return name in PROVIDERS and name not in upstreams


def _complaint(model: str, upstreams: Mapping[str, Upstream]) -> str:
    name, slash, model_id = model.partition("/")
    if not slash or not model_id:
        return f'"{model}" names no provider: write it as provider/model-id.'
    if name == SCRIPTED_PROVIDER:
        return ""
    provider = PROVIDERS.get(name)
    if provider is None:
        known = nearest(name, [*PROVIDERS, SCRIPTED_PROVIDER])
        return f'{model} names the unknown provider "{name}".{known}'
    upstream = upstreams.get(name)
    if upstream is None:
        return f"{model} needs {provider.url_variable}."
    if upstream.key is None and not provider.key_optional:
        return f"{model} needs {provider.key_variable}."
    return ""


def _base_url(provider: Provider, environ: Mapping[str, str]) -> str:
    url = environ.get(provider.url_variable, "").strip() or provider.default_url
    fault = _fault(url) if url else ""
    if fault:
        raise UsageError(
            f"{provider.url_variable} {fault}.",
            hint=f"Set it to the base URL of {provider.name}, such as https://host.example/v1.",
        )
    url = url.rstrip("/")
    return url if not url or url.endswith(provider.below) else url + provider.below


def _fault(url: str) -> str:
    """Say what is wrong with a base URL without repeating it; the empty string if nothing."""
    if not url.isascii() or not url.isprintable() or " " in url:
        return "holds spaces or other characters that no URL has"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "is no URL"
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return "is no http or https URL"
    if parts.username is not None or parts.password is not None:
        return "holds credentials, which belong in the key variable"
    return "has a query or a fragment" if parts.query or parts.fragment else ""


def _key(provider: Provider, environ: Mapping[str, str]) -> SecretStr | None:
    key = environ.get(provider.key_variable, "").strip()
    if not key:
        return None
    if not key.isascii() or not key.isprintable():
        raise UsageError(
            f"{provider.key_variable} holds characters that no HTTP header can carry.",
            hint="Set the variable again; a line break or a quotation mark may have slipped in.",
        )
    return SecretStr(key)


def place_of(url: str) -> tuple[str, int]:
    """Return the host and the port that a URL leads to."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    return host, parts.port or (443 if parts.scheme == "https" else 80)


def port_of(url: str) -> int:
    """Return the port that a URL leads to."""
    return place_of(url)[1]


def _proxy(url: str, environ: Mapping[str, str]) -> SecretStr | None:
    """Return the forward proxy for `url` by the customary variables, in either case of letters."""
    parts = urlsplit(url)
    variable = f"{parts.scheme}_proxy"
    proxy = environ.get(variable) or environ.get(variable.upper())
    exempt = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    # NO_PROXY names hosts, domains, or everything; loopback is always exempt.
    names = {*LOOPBACK, *(name.strip().lstrip(".").lower() for name in exempt.split(","))} - {""}
    here = [f".{parts.hostname or ''}", f".{parts.netloc.lower()}"]
    is_exempt = "*" in names or any(one.endswith(f".{name}") for name in names for one in here)
    if not proxy or is_exempt:
        return None
    if not proxy.startswith(("http://", "https://")):
        raise UsageError(f"{variable.upper()} is no http or https URL; other proxies do not work.")
    return SecretStr(proxy)
