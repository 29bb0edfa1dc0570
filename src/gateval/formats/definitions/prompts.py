"""Agents that a prompt in YAML says: the gate's own loop asks their model with it.

- cagent of Docker: https://github.com/docker/cagent, `cagent-schema.json` and `examples`. Of
  `agents`, `root` is asked first. What its toolsets can do is not run here. A team needs cagent
  itself, which takes addresses of models from `providers` or `--models-gateway`.
- GitHub Models, `*.prompt.yml`: https://docs.github.com/en/github-models/use-github-models/storing-prompts-in-github-repositories.
  `gateval import prompt-yml` makes fixtures of `testData`, in which the user's message is filled
  in. So that message counts as a part of the agent, and `testData` does not.
- kagent: https://kagent.dev/docs/kagent/resources/api-ref, `kind: Agent` of `kagent.dev/v1alpha1`
  and `v1alpha2`. A declarative agent names its model by a ModelConfig, which lies in this file or
  beside it, and tools of MCP servers by their names. One that brings its own image (`byo`) says
  nothing that the gate could start.
- Microsoft's Agent Framework and Foundry, `kind: Prompt`: https://github.com/microsoft/agent-framework,
  `python/packages/declarative` and `agent-samples`. A value that begins with `=` is Power Fx: only
  its own runtime can tell it.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import AgentTool
from gateval.domain.paths import resolve_path
from gateval.domain.strict_json import object_of, objects_of, string_of, value_at
from gateval.formats.definitions.base import (
    Definition,
    DefinitionSource,
    Files,
    model_name,
    models_of,
    tools_of,
    without,
    words,
)
from gateval.formats.yaml_document import Document

_CAGENT_TEAM = "It hands work to other agents, which the gate's own loop does not start."
_NO_CAGENT_MODEL = (
    "Its model is not to be told: `models` has none of this name with a known provider."
)


def is_team(keys: JsonObject) -> bool:
    """Whether a mapping is a file of cagent: `agents` by their names, each with an instruction."""
    agents = keys.get("agents")
    if not isinstance(agents, dict) or not agents or keys.keys() & {"apiVersion", "kind"}:
        return False
    told = [one for one in agents.values() if isinstance(one, dict)]
    return len(told) == len(agents) and any("instruction" in one for one in told)


def read_cagent(source: DefinitionSource) -> Iterator[Definition]:
    """Return the team of a file, under the name of the file: its `root`, or its first agent."""
    keys = source.mapping
    agents = keys.get("agents")
    if not is_team(keys) or not isinstance(agents, dict):
        return
    first = "root" if "root" in agents else next(iter(agents))
    root = agents[first]
    assert isinstance(root, dict)  # noqa: S101 - is_team
    models = tuple(filter(None, (_cagent_model(one, keys) for one in words(root.get("model")))))
    team = words(root.get("sub_agents")) or words(root.get("handoffs"))
    yield Definition(
        name=source.stem,
        place=source.key_place("agents", first),
        models=models,
        system="\n\n".join(filter(None, _cagent_prompts(root, source))),
        tools=tools_of(_cagent_tools(root)),
        files=tuple(_cagent_files(agents, source)),
        root=source.folder,
        runtime={"type": "model"} if models and not team else None,
        refusal=_CAGENT_TEAM if team else _NO_CAGENT_MODEL,
        means={"agents": {**agents, first: without(root, "instruction")},
               "models": keys.get("models"), "providers": keys.get("providers")},
    )  # fmt: skip


def _cagent_model(name: str, keys: JsonObject) -> str:
    """Return the model that an agent names: one of `models`, or `provider/model` itself."""
    found = value_at(keys, "models", name)
    if isinstance(found, dict):
        return model_name(string_of(found, "model"), string_of(found, "provider"))
    return model_name(name) if "/" in name else ""


def _cagent_tools(root: JsonObject) -> Iterator[str]:
    for one in objects_of(root, "toolsets"):
        listed = words(one.get("tools"))
        shell: JsonValue = one.get("shell")
        scripts = tuple(shell) if isinstance(shell, dict) else ()
        yield from (*listed, *scripts) if listed or scripts else (string_of(one, "type"),)


def _cagent_prompts(root: JsonObject, source: DefinitionSource) -> Iterator[str]:
    """Yield an agent's instruction, and the texts of the files that stand in its prompt, too."""
    yield string_of(root, "instruction")
    for name in words(root.get("add_prompt_files")):
        yield (source.files.text(resolve_path(source.folder, name) or "") or "").strip()


def _cagent_files(agents: JsonObject, source: DefinitionSource) -> Iterator[str]:
    """Yield the tracked files that agents name: files of prompts, and other teams."""
    for one in agents.values():
        if not isinstance(one, dict):
            continue
        named = [*words(one.get("add_prompt_files")), *words(one.get("sub_agents"))]
        named += [string_of(one, "instruction_file"), *words(one.get("skills"))]
        for text in named:
            path = resolve_path(source.folder, text) if "." in text else None
            if path and source.files.has(path):
                yield path


_NO_MODELS_MODEL = "It names no model, or one whose provider the gate does not know."


def read_github_models(source: DefinitionSource) -> Iterator[Definition]:
    """Return the prompt of a file."""
    keys = source.mapping
    if not isinstance(keys.get("messages"), list):
        raise source.refused("This is no prompt of GitHub Models: it has no `messages`.")
    said = [
        (string_of(one, "role"), string_of(one, "content")) for one in objects_of(keys["messages"])
    ]
    models = models_of(string_of(keys, "model"))
    system = [text for role, text in said if role in {"system", "developer"}]
    yield Definition(
        name=source.path.rpartition("/")[2].partition(".prompt.")[0],
        place=source.key_place("messages"),
        models=models,
        system="\n\n".join(text.strip() for text in system),
        root=source.folder,
        runtime={"type": "model"} if models else None,
        refusal=_NO_MODELS_MODEL,
        means=without(keys, "name", "testData", "evaluators", "messages") | {"messages": [
            f"{role}: {text}" for role, text in said]},
    )  # fmt: skip


_NO_KAGENT_MODEL = (
    "Its model is not to be told: no ModelConfig of this name with a provider that the gate knows "
    "is tracked."
)
_IMAGE = "It brings a container image of its own, which the gate does not start."


def _versioned(document: Document) -> JsonObject | None:
    data = document.data
    ours = isinstance(data, dict) and string_of(data, "apiVersion").startswith("kagent.dev/v1")
    return data if ours and isinstance(data, dict) else None


def _named(value: JsonObject) -> str:
    return string_of(value, "metadata", "name")


def _configs(source: DefinitionSource) -> dict[str, JsonObject]:
    """Return every ModelConfig of the revision by its name, those of this file first."""
    found: dict[str, JsonObject] = {}
    paths = [source.path, *source.files.others.get("kagent", ())]
    for path in dict.fromkeys(paths):
        for document in source.files.documents(path):
            data = _versioned(document)
            if data is not None and data.get("kind") == "ModelConfig":
                found.setdefault(_named(data), data)
    return found


def read_kagent(source: DefinitionSource) -> Iterator[Definition]:
    """Return every agent of a file."""
    configs: dict[str, JsonObject] | None = None
    for document in source.documents:
        data = _versioned(document)
        if data is None or data.get("kind") not in {"Agent", "SandboxAgent"} or not _named(data):
            continue
        configs = _configs(source) if configs is None else configs
        spec = data.get("spec")
        told = value_at(spec, "declarative") or spec
        name = string_of(told, "modelConfig") or "default-model-config"
        config = configs.get(name.rpartition("/")[2], {})
        provider = string_of(config, "spec", "provider")
        models = models_of(string_of(config, "spec", "model"), provider=provider)
        image = value_at(spec, "byo") is not None
        yield Definition(
            name=_named(data),
            place=document.place(("metadata", "name")),
            models=models,
            system=string_of(told, "systemMessage"),
            tools=tuple(_kagent_tools(told)),
            files=tuple(_asked_agents(told, source.files)),
            root=source.folder,
            runtime={"type": "model"} if models and not image else None,
            refusal=_IMAGE if image else _NO_KAGENT_MODEL,
            means={"spec": spec, "model": value_at(config, "spec")},
        )


def _kagent_tools(told: JsonValue) -> Iterator[AgentTool]:
    """Yield the tools that an agent names: those of servers, and other agents by their names."""
    names: list[str] = []
    for one in objects_of(told, "tools"):
        names += words(value_at(one, "mcpServer", "toolNames"))
        names.append(string_of(one, "agent", "name").replace("-", "_"))
        names.append(string_of(one, "builtin") or string_of(one, "builtin", "name"))
    yield from tools_of(names)


def _asked_agents(told: JsonValue, files: Files) -> Iterator[str]:
    """Yield the files of the agents that this one asks."""
    asked = {string_of(one, "agent", "name") for one in objects_of(told, "tools")} - {""}
    for path in files.others.get("kagent", ()) if asked else ():
        named = (_named(data) for one in files.documents(path) if (data := _versioned(one)))
        if asked & {*named}:
            yield path


_NO_MICROSOFT_MODEL = (
    "Its model is not to be told: it stands in the environment, or its provider is unknown."
)
_FUNCTIONS = frozenset({"function", "custom", ""})


def read_microsoft(source: DefinitionSource) -> Iterator[Definition]:
    """Return the agent of a file."""
    keys = source.mapping
    if "definition" in keys and isinstance(keys["definition"], dict):  # as Foundry writes it
        keys = {**without(keys, "definition"), **keys["definition"]}
    model = _microsoft_model(keys.get("model"))
    said = string_of(keys, "instructions")
    more = string_of(keys, "additionalInstructions")
    yield Definition(
        name=string_of(keys, "name") or source.stem,
        place=source.key_place("name"),
        models=(model,) if model else (),
        system="\n\n".join(filter(None, (said, more))),
        tools=tuple(_microsoft_tools(keys.get("tools"))),
        root=source.folder,
        runtime={"type": "model"} if model and not said.startswith("=") else None,
        refusal=_NO_MICROSOFT_MODEL,
        means=without(keys, "name", "instructions"),
    )


def _microsoft_model(value: JsonValue) -> str:
    """Return the model of an agent, which may be its id alone."""
    if not isinstance(value, dict):
        return model_name(string_of(value))
    known = string_of(value, "provider") or string_of(value, "publisher")
    first = known.partition(".")[0]  # `OpenAI.Responses`, `AzureOpenAI.Chat`
    return model_name(string_of(value, "id"), first)


def _microsoft_tools(value: JsonValue) -> Iterator[AgentTool]:
    for one in objects_of(value):
        name = string_of(one, "name")
        kind = string_of(one, "kind") or string_of(one, "type")
        if name and kind.lower() in _FUNCTIONS:
            schema = _schema(one.get("parameters"))
            yield AgentTool(
                name=name, description=string_of(one, "description"), input_schema=schema
            )
        elif name or kind:
            yield AgentTool(name=name or kind)


def _schema(value: JsonValue) -> JsonObject | None:
    """Return parameters as JSON Schema: a list, or a mapping of `properties`."""
    found: dict[str, JsonObject] = {str(one.get("name")): one for one in objects_of(value)}
    if isinstance(value, dict):
        properties = value.get("properties")
        told = object_of(properties)
        found = {name: one for name, one in told.items() if isinstance(one, dict)}
        found |= {str(one.get("name")): one for one in objects_of(properties)}
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
