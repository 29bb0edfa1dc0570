"""Which endpoint a candidate asks for, and which model it means.

The gateway has an address for each family of clients. Below an address stand the endpoints of all
formats, with `/v1` before them or without: some clients add it to the base URL, others expect it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from gateval.domain.manifests.scripted import SCRIPTED_PROVIDER
from gateval.gateway.upstream.providers import PROVIDERS, home_provider
from gateval.wire.registry import FORMATS
from gateval.wire.streams import STREAM_FORMATS

AZURE = "/azure"
OPENROUTER = "/openrouter"
GEMINI = "/gemini"
"""The addresses of clients that do not share that of OpenAI and Anthropic."""

_DOORS = (
    (f"{AZURE}/openai", "azure"),
    (OPENROUTER, "openrouter"),
    (GEMINI, "gemini"),
    ("", ""),
)
_VERSION = re.compile(r"\A/v1(?:alpha|beta)?(?=/)")
_MODEL = r"(?P<model>[A-Za-z0-9_][\w.@:+-]*(?:/[A-Za-z0-9_][\w.@:+-]*)*)"
"""No part of a name begins with a dot, so that none leads elsewhere."""

_DEPLOYMENT = re.compile(rf"/deployments/{_MODEL}(?P<rest>/chat/completions|/embeddings)", re.ASCII)
_GOOGLE = re.compile(rf"/models/{_MODEL}(?P<verb>:[A-Za-z]+)", re.ASCII)
_LISTED = re.compile(rf"/models(?:/{_MODEL})?", re.ASCII)
_LONGEST = 300

_PLAIN = {
    (wire.base_path + wire.path).removeprefix("/v1"): name
    for name, wire in FORMATS.items()
    if "{model}" not in wire.path
}
_BY_VERB = {
    path.partition("{model}")[2].partition("?")[0]: (name, streams)
    for formats, streams in ((FORMATS, False), (STREAM_FORMATS, True))
    for name, path in ((name, one.path) for name, one in formats.items())
    if "{model}" in path
}


class Endpoint(NamedTuple):
    """An endpoint. `wire` is its format, or empty for the list of models.

    `home` is the provider that a bare name means, or empty for the format's own. `model` is named
    by the path, and `streams` says that the path asks for a stream.
    """

    wire: str
    home: str = ""
    model: str = ""
    streams: bool = False


_COMMON = {f"/v1{path}": Endpoint(name) for path, name in _PLAIN.items()}
"""What nearly all requests ask for, found at once."""


def find(method: str, path: str) -> Endpoint | None:
    """Return the endpoint of a request by its decoded path, or None if there is none."""
    if method == "POST" and path in _COMMON:
        return _COMMON[path]
    if len(path) > _LONGEST:
        return None
    door, home = next((one for one in _DOORS if path.startswith(f"{one[0]}/")), _DOORS[-1])
    rest = _VERSION.sub("", path.removeprefix(door))
    if method == "GET":
        listed = _LISTED.fullmatch(rest)
        return Endpoint("", home, listed["model"] or "") if listed else None
    if method != "POST":
        return None
    deployment = _DEPLOYMENT.fullmatch(rest)
    if deployment:
        return Endpoint(_PLAIN[deployment["rest"]], home or "azure", deployment["model"])
    asked = _GOOGLE.fullmatch(rest) if home == "gemini" else None
    if asked and asked["verb"] in _BY_VERB:
        name, streams = _BY_VERB[asked["verb"]]
        return Endpoint(name, home, asked["model"], streams)
    return Endpoint(_PLAIN[rest], home) if rest in _PLAIN else None


def route(requested: str, models: Iterable[str], wire: str, home: str = "") -> str:
    """Return `provider/model-id` for the model name that a candidate sent.

    A model of the Agent's list (`models`) is meant by its whole name or by the id alone, that of
    the provider `home` first; else a name that begins with a known provider means that provider;
    else `home`, or the provider whose format (`wire`) the candidate speaks. OpenRouter's names
    begin like those of other providers, so at a home of one's own only that and scripts are known.
    """
    meant = [model for model in models if requested in (model, model.partition("/")[2])]
    if meant:
        return next((model for model in meant if model.startswith(f"{home}/")), meant[0])
    provider, slash, model_id = requested.partition("/")
    known = (home, SCRIPTED_PROVIDER) if home else (*PROVIDERS, SCRIPTED_PROVIDER)
    if slash and model_id and provider in known:
        return requested
    return f"{home or home_provider(wire)}/{requested}"
