"""Which variables a candidate sees: an allow-list, because every deny-list forgets something.

A candidate is code from the pull request. One provider key that reaches it is a leaked key, so
the keys of model providers and the credentials of the runner are refused even where the policy
names them; candidates reach models through the gateway.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from gateval.gateway.upstream.providers import PROVIDERS

MARKER = "GATEVAL_CANDIDATE"
"""Carries the instance's name in every process of a candidate."""

HARMLESS = frozenset(
    {
        "PATH",
        "LANG",
        "LANGUAGE",
        "TZ",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS",
        "GIT_SSL_CAINFO",
        "PIP_CERT",
    }
)
"""Passed to every candidate, and everything that begins with `LC_`."""

_PRIVATE = frozenset({"HOME", "TMPDIR"})

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_OTHER_PROVIDERS = [
    "AZURE_OPENAI",
    "CLAUDE",
    "MISTRAL",
    "GROQ",
    "XAI",
    "COHERE",
    "DEEPSEEK",
    "VOYAGE",
    "TOGETHER",
    "FIREWORKS",
    "PERPLEXITY",
    "CEREBRAS",
    "REPLICATE",
    "NVIDIA",
    "HF",
    "HUGGINGFACE",
    "HUGGING_FACE",
    "GOOGLE_GENAI",
    "GOOGLE_GENERATIVE_AI",
]
_PROVIDER = "|".join({*(one.prefix for one in PROVIDERS.values()), *_OTHER_PROVIDERS})
_PROVIDER_KEY = re.compile(
    rf"({_PROVIDER})_(.*_)?(KEYS?|TOKEN|SECRET)(_.*)?"
    "|GOOGLE_API_KEY|CO_API_KEY|AWS_BEARER_TOKEN_BEDROCK"
)

_RUNNER = re.compile(
    r"(ACTIONS|INPUT|GATEVAL)_.*|(GITHUB|GH)_.*TOKEN.*|GITHUB_(ENV|OUTPUT|PATH|STATE|STEP_SUMMARY)"
)


def refusal(name: str) -> str | None:
    """Return why `policy.candidateEnv` may not name this variable, as a sentence, or None."""
    if not _NAME.fullmatch(name):
        return f"{name!r} is no name of an environment variable."
    upper = name.upper()
    if upper in _PRIVATE:
        return f"{name} cannot be passed to candidates: each trial has a private one."
    if _PROVIDER_KEY.fullmatch(upper):
        return (
            f"{name} looks like the key of a model provider, and candidates run code from the pull "
            "request. They reach models through the gateway, without the key; remove the name."
        )
    if _RUNNER.fullmatch(upper):
        return (
            f"{name} belongs to the gate or to the runner and would let code from the pull request "
            "act in their name; remove the name."
        )
    return None


def refusals(names: Iterable[str]) -> tuple[str, ...]:
    """Return the sentences for all names that `policy.candidateEnv` may not hold."""
    return tuple(sentence for name in names if (sentence := refusal(name)))


def candidate_environment(environ: Mapping[str, str], names: Iterable[str] = ()) -> dict[str, str]:
    """Return what candidates may see of the gate's environment.

    `names` are `policy.candidateEnv`; those that `refusal` speaks of are left out.
    """
    asked = {name for name in names if refusal(name) is None}
    return {name: value for name, value in environ.items() if _passes(name) or name in asked}


def instance_environment(
    environ: Mapping[str, str],
    *,
    literals: Mapping[str, str],
    door: Mapping[str, str],
    home: str,
    tmp: str,
    name: str,
) -> dict[str, str]:
    """Return the whole environment of one process; what comes later wins.

    `environ` is what `candidate_environment` let through, `literals` are `runtime.env`, `door` the
    addresses of the model door, `home` and `tmp` private folders, `name` the instance's name.
    """
    passed = {key: value for key, value in environ.items() if refusal(key) is None}
    return {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        **passed,
        **literals,
        **door,
        "HOME": home,
        "TMPDIR": tmp,
        MARKER: name,
    }


def _passes(name: str) -> bool:
    return name in HARMLESS or name.startswith("LC_")
