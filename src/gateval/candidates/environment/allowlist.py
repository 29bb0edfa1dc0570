"""Which variables a candidate sees: an allow-list, because every deny-list forgets something.

A candidate is code from the pull request. One provider key that reaches it is a leaked key, so
the keys of model providers and the credentials of the runner are refused even where the policy
names them; candidates reach models through the gateway.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from gateval.candidates.environment.quiet import SWITCHES
from gateval.domain.manifests.variable_names import refusal
from gateval.gateway.upstream.providers import PREFIXES

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

SDK_DEFAULTS = {
    # Azure's client wants a version, and the gateway takes any. With Azure's variables beside
    # OpenAI's own, `openai.chat` without a client of one's own asks which of the two is meant.
    "OPENAI_API_VERSION": "2024-10-21",
    "OPENAI_API_TYPE": "openai",
}
"""What official clients need to know beside the addresses and keys of the gateway."""


def candidate_environment(environ: Mapping[str, str], names: Iterable[str] = ()) -> dict[str, str]:
    """Return what candidates may see of the gate's environment.

    `names` are `policy.candidateEnv`; those that `refusal` speaks of are left out.
    """
    own = {name: value for name, value in environ.items() if _passes(name)}
    return {**own, **passed_on(environ, names)}


def passed_on(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return the variables of `environ` that `policy.candidateEnv` (`names`) may pass on."""
    return {
        name: environ[name] for name in names if name in environ and refusal(name, PREFIXES) is None
    }


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

    First come the switches of `quiet`, so that a manifest can turn a trace on again. `environ` is
    what `candidate_environment` let through, `literals` are `runtime.env`, `door` the addresses of
    the model door, `home` and `tmp` private folders, `name` the instance's name.
    """
    passed = {key: value for key, value in environ.items() if refusal(key, PREFIXES) is None}
    return {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        **SWITCHES,
        **SDK_DEFAULTS,
        **passed,
        **literals,
        **door,
        "HOME": home,
        "TMPDIR": tmp,
        MARKER: name,
    }


def _passes(name: str) -> bool:
    return name in HARMLESS or name.startswith("LC_")
