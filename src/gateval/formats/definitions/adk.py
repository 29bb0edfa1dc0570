"""Agents that Google's Agent Development Kit reads from `root_agent.yaml`.

Source: https://adk.dev/agents/config/ and `AgentConfig.json` of https://github.com/google/adk-python.
The bridge of ADK starts it as ADK does, with the code that it names; its folder is its closure.
"""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.paths import resolve_path
from gateval.formats.definitions.base import (
    REFERENCES_LIMIT,
    Definition,
    Source,
    Unreadable,
    models_of,
    objects,
    text_of,
    tools_of,
    without,
)


def read(source: Source) -> Iterator[Definition]:
    """Return the agent of a folder, with the sub-agents whose files it names."""
    keys = source.mapping
    above, _, folder = source.folder.rpartition("/")
    name = source.path.rpartition("/")[2]
    # ADK imports tools by the name of the agent's folder, so it works in the one above
    target = f"{folder}/{name}" if folder else name
    yield Definition(
        name=folder or text_of(keys.get("name")) or "root-agent",
        place=source.key_place("name"),
        models=models_of(text_of(keys.get("model"))),
        system=text_of(keys.get("instruction")),
        tools=tools_of(
            text_of(one.get("name")).rpartition(".")[2] for one in objects(keys.get("tools"))
        ),
        files=(source.folder, *_team(source)),
        root=above,
        runtime={"type": "python", "target": target, "framework": "google-adk"},
        means=without(keys, "instruction"),
    )


def _team(source: Source) -> Iterator[str]:
    """Yield the files of the sub-agents of an agent, and of theirs."""
    found = {source.path}
    todo = [source]
    while todo and len(found) < REFERENCES_LIMIT:
        one = todo.pop()
        try:
            keys = one.mapping
        except Unreadable:
            continue
        for below in objects(keys.get("sub_agents")):
            path = resolve_path(one.folder, text_of(below.get("config_path")) or ".")
            text = one.files.text(path) if path and path not in found else None
            if path and text is not None:
                found.add(path)
                todo.append(Source(path, text, one.files))
                yield path
