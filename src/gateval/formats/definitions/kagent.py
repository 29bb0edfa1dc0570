"""Agents of kagent: `kind: Agent` of `kagent.dev/v1alpha1` and `v1alpha2`, with its ModelConfig.

Source: https://kagent.dev/docs/kagent/resources/api-ref. A declarative agent names its model by a
ModelConfig, which lies in this file or beside it, and tools of MCP servers by their names. One that
brings its own image (`byo`) says nothing that the gate could start.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import AgentTool
from gateval.formats.definitions.base import (
    Definition,
    Files,
    Source,
    models_of,
    objects,
    text_of,
    tools_of,
    words,
)
from gateval.formats.yaml_document import Document

_NO_MODEL = (
    "Its model is not to be told: no ModelConfig of this name with a provider that the gate knows "
    "is tracked."
)
_IMAGE = "It brings a container image of its own, which the gate does not start."


def _versioned(document: Document) -> JsonObject | None:
    data = document.data
    ours = isinstance(data, dict) and text_of(data.get("apiVersion")).startswith("kagent.dev/v1")
    return data if ours and isinstance(data, dict) else None


def _under(value: JsonValue, *steps: str) -> JsonValue:
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _named(value: JsonObject) -> str:
    return text_of(_under(value, "metadata", "name"))


def _configs(source: Source) -> dict[str, JsonObject]:
    """Return every ModelConfig of the revision by its name, those of this file first."""
    found: dict[str, JsonObject] = {}
    paths = [source.path, *source.files.others.get("kagent", ())]
    for path in dict.fromkeys(paths):
        for document in source.files.documents(path):
            data = _versioned(document)
            if data is not None and data.get("kind") == "ModelConfig":
                found.setdefault(_named(data), data)
    return found


def read(source: Source) -> Iterator[Definition]:
    """Return every agent of a file."""
    configs: dict[str, JsonObject] | None = None
    for document in source.documents:
        data = _versioned(document)
        if data is None or data.get("kind") not in {"Agent", "SandboxAgent"} or not _named(data):
            continue
        configs = _configs(source) if configs is None else configs
        spec = data.get("spec")
        told = _under(spec, "declarative") or spec
        name = text_of(_under(told, "modelConfig")) or "default-model-config"
        config = configs.get(name.rpartition("/")[2], {})
        provider = text_of(_under(config, "spec", "provider"))
        models = models_of(text_of(_under(config, "spec", "model")), provider=provider)
        image = _under(spec, "byo") is not None
        yield Definition(
            name=_named(data),
            place=document.place(("metadata", "name")),
            models=models,
            system=text_of(_under(told, "systemMessage")),
            tools=tuple(_tools(told)),
            files=tuple(_others(told, source.files)),
            root=source.folder,
            runtime={"type": "model"} if models and not image else None,
            refusal=_IMAGE if image else _NO_MODEL,
            means={"spec": spec, "model": _under(config, "spec")},
        )


def _tools(told: JsonValue) -> Iterator[AgentTool]:
    """Yield the tools that an agent names: those of servers, and other agents by their names."""
    names: list[str] = []
    for one in objects(_under(told, "tools")):
        names += words(_under(one, "mcpServer", "toolNames"))
        names.append(text_of(_under(one, "agent", "name")).replace("-", "_"))
        names.append(text_of(one.get("builtin")) or text_of(_under(one, "builtin", "name")))
    yield from tools_of(names)


def _others(told: JsonValue, files: Files) -> Iterator[str]:
    """Yield the files of the agents that this one asks."""
    asked = {text_of(_under(one, "agent", "name")) for one in objects(_under(told, "tools"))} - {""}
    for path in files.others.get("kagent", ()) if asked else ():
        named = (_named(data) for one in files.documents(path) if (data := _versioned(one)))
        if asked & {*named}:
            yield path
