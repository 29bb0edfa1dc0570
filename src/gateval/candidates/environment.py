"""Which variables a candidate sees: an allow-list, because every deny-list forgets something.

A candidate is code from the pull request. One provider key that reaches it is a leaked key, so
the keys of model providers and the credentials of the runner are refused even where the policy
names them; candidates reach models through the gateway.

What SDKs send home about themselves is off, so that no run waits for it: a trace of the SDK's own
goes past the gateway, with a key that is none, to a server that refuses it; some SDKs try again for
seconds before they let the program end. The gateway has the trace.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gateval.domain.manifests.agent import refusal
from gateval.gateway.upstream.endpoints import PREFIXES

if TYPE_CHECKING:
    from gateval.candidates.program import PrivateFolders

MARKER = "GATEVAL_CANDIDATE"
"""Carries the instance's name in every process of a candidate."""

HARMLESS = frozenset({
    "PATH", "LANG", "LANGUAGE", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "PIP_CERT",
})  # fmt: skip
"""Passed to every candidate, and everything that begins with `LC_`."""

SDK_DEFAULTS = {
    # Azure's client wants a version, and the gateway takes any. With Azure's variables beside
    # OpenAI's own, `openai.chat` without a client of one's own asks which of the two is meant.
    "OPENAI_API_VERSION": "2024-10-21",
    "OPENAI_API_TYPE": "openai",
}
"""What official clients need to know beside the addresses and keys of the gateway."""

SWITCHES: Mapping[str, str] = {
    # https://openai.github.io/openai-agents-python/tracing/
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    # https://docs.langchain.com/langsmith/trace-without-env-vars; the older name beside the newer
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    # https://docs.crewai.com/en/telemetry
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    # https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
    "OTEL_SDK_DISABLED": "true",
    # Chroma, Browser Use: https://docs.browser-use.com/development/telemetry
    "ANONYMIZED_TELEMETRY": "false",
    # https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
    "HF_HUB_DISABLE_TELEMETRY": "1",
    # https://consoledonottrack.com, which several tools follow
    "DO_NOT_TRACK": "1",
    # https://langfuse.com/faq/all/enable-disable-tracing
    "LANGFUSE_TRACING_ENABLED": "false",
    # https://logfire.pydantic.dev/docs/reference/configuration/: `logfire.configure()` without a
    # token ends the program, and its console writes between the lines of an answer
    "LOGFIRE_SEND_TO_LOGFIRE": "false",
    "LOGFIRE_CONSOLE": "false",
    # https://docs.wandb.ai/weave/guides/tracking/trace-disable
    "WEAVE_DISABLED": "true",
    "WANDB_MODE": "disabled",
    # https://docs.agno.com/telemetry
    "AGNO_TELEMETRY": "false",
    # https://docs.mem0.ai/open-source/features/overview
    "MEM0_TELEMETRY": "false",
    # https://docs.haystack.deepset.ai/docs/telemetry
    "HAYSTACK_TELEMETRY_ENABLED": "false",
    # https://www.gradio.app/guides/environment-variables
    "GRADIO_ANALYTICS_ENABLED": "False",
    # LiteLLM reads a list of prices from GitHub when it is imported; the package has a copy.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
"""Environment variables of every candidate, unless its manifest or the policy names them."""


def candidate_environment(environ: Mapping[str, str], names: Iterable[str] = ()) -> dict[str, str]:
    """Return what candidates may see of the gate's environment. `names` are `policy.candidateEnv`;
    those that `refusal` speaks of are left out.
    """
    own = {
        name: value for name, value in environ.items() if name in HARMLESS or name.startswith("LC_")
    }
    return {**own, **passed_on(environ, names)}


def passed_on(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return the variables of `environ` that `policy.candidateEnv` (`names`) may pass on."""
    return {
        name: environ[name] for name in names if name in environ and refusal(name, PREFIXES) is None
    }


def instance_environment(
    environ: Mapping[str, str],
    name: str,
    private: PrivateFolders,
    literals: Mapping[str, str] = {},
    door: Mapping[str, str] = {},
) -> dict[str, str]:
    """Return the whole environment of one process; what comes later wins.

    First come `SWITCHES`, so that a manifest can turn a trace on again. `environ` is what
    `candidate_environment` let through, `name` the instance's name, `private` its own folders;
    `literals` are `runtime.env`, `door` the addresses of the model door.
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
        "HOME": str(private.home),
        "TMPDIR": str(private.tmp),
        MARKER: name,
    }
