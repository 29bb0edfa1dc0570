"""What SDKs send home about themselves is off in candidates, so that no run waits for it.

A trace of the SDK's own goes past the gateway, with a key that is none, to a server that refuses
it; some SDKs try again for seconds before they let the program end. The gateway has the trace.
"""

from __future__ import annotations

from collections.abc import Mapping

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
