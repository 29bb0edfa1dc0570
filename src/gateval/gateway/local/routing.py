"""Which model a candidate means when it asks the local server for one."""

from __future__ import annotations

from collections.abc import Iterable

from gateval.domain.manifests.scripted import SCRIPTED_PROVIDER
from gateval.gateway.upstream.providers import PROVIDERS, home_provider


def route(requested: str, models: Iterable[str], wire: str) -> str:
    """Return `provider/model-id` for the model name that a candidate sent.

    A model of the Agent's list (`models`) is meant by its whole name or by the id alone; else a
    name that begins with a known provider means that provider; else the provider whose format
    (`wire`) the candidate speaks.
    """
    for model in models:
        if requested in (model, model.partition("/")[2]):
            return model
    provider, slash, model_id = requested.partition("/")
    if slash and model_id and (provider in PROVIDERS or provider == SCRIPTED_PROVIDER):
        return requested
    return f"{home_provider(wire)}/{requested}"
