"""Teams of Docker's cagent (`docker agent`): YAML with `agents`, of which `root` is asked first.

Source: https://github.com/docker/cagent, `cagent-schema.json` and `examples`. An agent with a
model, an instruction and no team runs by its prompt; what its toolsets can do is not run here. A
team needs cagent itself, which takes addresses of models from `providers` or `--models-gateway`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.paths import resolve_path
from gateval.formats.definitions.base import (
    Definition,
    Source,
    model_name,
    objects,
    text_of,
    tools_of,
    without,
    words,
)

_TEAM = "It hands work to other agents, which the gate's own loop does not start."
_NO_MODEL = "Its model is not to be told: `models` has none of this name with a known provider."


def is_team(keys: JsonObject) -> bool:
    """Whether a mapping is a file of cagent: `agents` by their names, each with an instruction."""
    agents = keys.get("agents")
    if not isinstance(agents, dict) or not agents or keys.keys() & {"apiVersion", "kind"}:
        return False
    told = [one for one in agents.values() if isinstance(one, dict)]
    return len(told) == len(agents) and any("instruction" in one for one in told)


def read(source: Source) -> Iterator[Definition]:
    """Return the team of a file, under the name of the file: its `root`, or its first agent."""
    keys = source.mapping
    agents = keys.get("agents")
    if not is_team(keys) or not isinstance(agents, dict):
        return
    first = "root" if "root" in agents else next(iter(agents))
    root = agents[first]
    assert isinstance(root, dict)  # noqa: S101 - is_team
    models = tuple(filter(None, (_model(one, keys) for one in words(root.get("model")))))
    team = words(root.get("sub_agents")) or words(root.get("handoffs"))
    yield Definition(
        name=source.stem,
        place=source.key_place("agents", first),
        models=models,
        system="\n\n".join(filter(None, _prompts(root, source))),
        tools=tools_of(_tools(root)),
        files=tuple(_files(agents, source)),
        root=source.folder,
        runtime={"type": "model"} if models and not team else None,
        refusal=_TEAM if team else _NO_MODEL,
        means={"agents": {**agents, first: without(root, "instruction")},
               "models": keys.get("models"), "providers": keys.get("providers")},
    )  # fmt: skip


def _model(name: str, keys: JsonObject) -> str:
    """Return the model that an agent names: one of `models`, or `provider/model` itself."""
    models = keys.get("models")
    found = models.get(name) if isinstance(models, dict) else None
    if isinstance(found, dict):
        return model_name(text_of(found.get("model")), text_of(found.get("provider")))
    return model_name(name) if "/" in name else ""


def _tools(root: JsonObject) -> Iterator[str]:
    for one in objects(root.get("toolsets")):
        listed = words(one.get("tools"))
        shell: JsonValue = one.get("shell")
        scripts = tuple(shell) if isinstance(shell, dict) else ()
        yield from (*listed, *scripts) if listed or scripts else (text_of(one.get("type")),)


def _prompts(root: JsonObject, source: Source) -> Iterator[str]:
    """Yield an agent's instruction, and the texts of the files that stand in its prompt, too."""
    yield text_of(root.get("instruction"))
    for name in words(root.get("add_prompt_files")):
        yield (source.files.text(resolve_path(source.folder, name) or "") or "").strip()


def _files(agents: JsonObject, source: Source) -> Iterator[str]:
    """Yield the tracked files that agents name: files of prompts, and other teams."""
    for one in agents.values():
        if not isinstance(one, dict):
            continue
        named = [*words(one.get("add_prompt_files")), *words(one.get("sub_agents"))]
        named += [text_of(one.get("instruction_file")), *words(one.get("skills"))]
        for text in named:
            path = resolve_path(source.folder, text) if "." in text else None
            if path and source.files.has(path):
                yield path
