"""Declarative agents of Microsoft's Agent Framework and Foundry: `kind: Prompt`.

Source: https://github.com/microsoft/agent-framework, `python/packages/declarative` and
`agent-samples`. A value that begins with `=` is Power Fx: only its own runtime can tell it.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import AgentTool
from gateval.formats.definitions.base import (
    Definition,
    Source,
    model_name,
    objects,
    text_of,
    without,
)

_NO_MODEL = "Its model is not to be told: it stands in the environment, or its provider is unknown."
_FUNCTIONS = frozenset({"function", "custom", ""})


def read(source: Source) -> Iterator[Definition]:
    """Return the agent of a file."""
    keys = source.mapping
    if "definition" in keys and isinstance(keys["definition"], dict):  # as Foundry writes it
        keys = {**without(keys, "definition"), **keys["definition"]}
    model = _model(keys.get("model"))
    said = text_of(keys.get("instructions"))
    more = text_of(keys.get("additionalInstructions"))
    yield Definition(
        name=text_of(keys.get("name")) or source.stem,
        place=source.key_place("name"),
        models=(model,) if model else (),
        system="\n\n".join(filter(None, (said, more))),
        tools=tuple(_tools(keys.get("tools"))),
        root=source.folder,
        runtime={"type": "model"} if model and not said.startswith("=") else None,
        refusal=_NO_MODEL,
        means=without(keys, "name", "instructions"),
    )


def _model(value: JsonValue) -> str:
    """Return the model of an agent, which may be its id alone."""
    if not isinstance(value, dict):
        return model_name(text_of(value))
    known = text_of(value.get("provider")) or text_of(value.get("publisher"))
    first = known.partition(".")[0]  # `OpenAI.Responses`, `AzureOpenAI.Chat`
    return model_name(text_of(value.get("id")), first)


def _tools(value: JsonValue) -> Iterator[AgentTool]:
    for one in objects(value):
        name = text_of(one.get("name"))
        kind = text_of(one.get("kind")) or text_of(one.get("type"))
        if name and kind.lower() in _FUNCTIONS:
            schema = _schema(one.get("parameters"))
            yield AgentTool(
                name=name, description=text_of(one.get("description")), input_schema=schema
            )
        elif name or kind:
            yield AgentTool(name=name or kind)


def _schema(value: JsonValue) -> JsonObject | None:
    """Return parameters as JSON Schema: a list, or a mapping of `properties`."""
    found: dict[str, JsonObject] = {str(one.get("name")): one for one in objects(value)}
    if isinstance(value, dict):
        properties = value.get("properties")
        told = properties if isinstance(properties, dict) else {}
        found = {name: one for name, one in told.items() if isinstance(one, dict)}
        found |= {str(one.get("name")): one for one in objects(properties)}
    if not found:
        return None
    required = [name for name, one in found.items() if one.get("required") is True]
    properties_: JsonObject = {name: _property(one) for name, one in found.items()}
    schema: JsonObject = {"type": "object", "properties": properties_}
    return {**schema, "required": [*required]} if required else schema


def _property(one: JsonObject) -> JsonObject:
    kept = without(one, "name", "required", "kind")
    kind = one.get("type") or one.get("kind")
    return {**kept, "type": kind} if isinstance(kind, str) else kept
