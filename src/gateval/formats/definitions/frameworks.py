"""Agents of frameworks that read files beside their code: a bridge starts them as those would.

- `root_agent.yaml` of Google's Agent Development Kit: https://adk.dev/agents/config/ and
  `AgentConfig.json` of https://github.com/google/adk-python. Its folder is its closure, with what
  its files name of the folder above, where Python finds its tools; that whole folder where a file
  may lead anywhere.
- `config/agents.yaml` and `config/tasks.yaml` of CrewAI: https://docs.crewai.com/en/concepts/agents
  and /tasks. They belong to the `@CrewBase` class that names them; its project is its closure.
- `langgraph.json`: https://docs.langchain.com/langsmith/application-structure. Each graph is an
  agent, in Python or in Node as the file says; its folder is its closure. `env` is no part of it:
  what stands there is for machines, and secrets of it belong to `policy.candidateEnv`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from posixpath import relpath

from gateval.domain.base import JsonObject
from gateval.domain.paths import resolve_path
from gateval.domain.strict_json import objects_of, string_of, value_at
from gateval.formats.definitions.base import (
    REFERENCES_LIMIT,
    Definition,
    DefinitionSource,
    DefinitionUnreadable,
    models_of,
    tools_of,
    without,
)


def read_adk(source: DefinitionSource) -> Iterator[Definition]:
    """Return the agent of a folder, with the sub-agents whose files it names."""
    keys = source.mapping
    above, _, folder = source.folder.rpartition("/")
    name = source.path.rpartition("/")[2]
    # ADK imports tools by the name of the agent's folder, so it works in the one above
    target = f"{folder}/{name}" if folder else name
    team = tuple(_adk_team(source))
    beside = _adk_beside(source, above, team) if folder else None
    yield Definition(
        name=folder or string_of(keys, "name") or "root-agent",
        place=source.key_place("name"),
        models=models_of(string_of(keys, "model")),
        system=string_of(keys, "instruction"),
        tools=tools_of(
            string_of(one, "name").rpartition(".")[2] for one in objects_of(keys, "tools")
        ),
        files=(source.folder, *team, *(beside or ())),
        root=above,
        closed=beside is not None,
        runtime={"type": "python", "target": target, "framework": "google-adk"},
        means=without(keys, "instruction"),
    )


def _adk_team(source: DefinitionSource) -> Iterator[str]:
    """Yield the files of the sub-agents of an agent, and of theirs."""
    found = {source.path}
    todo = [source]
    while todo and len(found) < REFERENCES_LIMIT:
        one = todo.pop()
        try:
            keys = one.mapping
        except DefinitionUnreadable:
            continue
        for below in objects_of(keys, "sub_agents"):
            path = resolve_path(one.folder, string_of(below, "config_path") or ".")
            text = one.files.text(path) if path and path not in found else None
            if path and text is not None:
                found.add(path)
                todo.append(DefinitionSource(path, text, one.files))
                yield path


_LEADS_OUT = re.compile(
    r"\.\.[/\\]|\.parents\b|\.parent\.parent|dirname\([^\n]*dirname\(|\bcwd\(|getcwd\("
    r"|listdir\(|iterdir\(|scandir\(|walk\(|glob\(|pardir\b|import_module\(|__import__|sys\.path"
)
"""What may lead a file of Python anywhere."""

_PROJECT = ("pyproject.toml", "requirements.txt", "uv.lock", "poetry.lock", ".python-version")


def _adk_beside(source: DefinitionSource, above: str, team: Iterable[str]) -> list[str] | None:
    """Return what the files of an agent's folder name of the folder above, the project's files
    among it; None where one of them may lead anywhere, or a program of it cannot be read.
    """
    files, start = source.files, f"{above}/" if above else ""
    entries = files.entries(above)
    by_name: dict[str, set[str]] = {}
    for entry in entries:  # a package and a module may have one name
        for name in (entry.removesuffix(".py"), entry):
            by_name.setdefault(name, set()).add(entry)
    seen = {source.folder.rpartition("/")[2]}
    found = [*files.above(above, *_PROJECT)]
    todo = [*team, *entries.get(source.folder[len(start) :], ())]
    for read, path in enumerate(todo):  # it grows
        text = files.text(path)
        unread = text is None and path.endswith((".py", ".yaml", ".yml"))
        text = text or ""
        leads_out = path.endswith(".py") and _LEADS_OUT.search(text)
        if unread or leads_out or read > REFERENCES_LIMIT:
            return None
        words = {*_WORD.findall(text), *(one.strip(".-") for one in _NAME.findall(text))}
        named = set().union(*(by_name[one] for one in words & by_name.keys()))
        for entry in sorted(named - seen):
            seen.add(entry)
            found.append(f"{start}{entry}")
            todo += entries[entry]
    return found


_NAME = re.compile(r"[\w.-]+")
_WORD = re.compile(r"\w+")
_CREW = re.compile(r"^@(?:\w+\.)?CrewBase\b[^\n]*\n(?:@[^\n]*\n)*class (\w+)", re.MULTILINE)
_MODULES = ("crew.py", "crews.py", "main.py", "flow.py")
_NO_CREW = (
    "No class with `@CrewBase` beside or above `config/` says how these agents work together."
)


def is_crew(keys: JsonObject) -> bool:
    """Whether a mapping holds agents of a crew: each has a role and a goal."""
    told = [one for one in keys.values() if isinstance(one, dict)]
    return bool(told) and len(told) == len(keys) and all("role" in o and "goal" in o for o in told)


def read_crew(source: DefinitionSource) -> Iterator[Definition]:
    """Return the crew of a folder; `tasks.yaml` lies beside."""
    keys = source.mapping
    if not is_crew(keys):
        return
    tasks = resolve_path(source.folder, "tasks.yaml") or ""
    told = source.files.text(tasks)
    if told is None:
        return
    home = source.folder.removesuffix("config").rstrip("/")
    module, crew = next(_crews(source, home), ("", ""))
    project = _project(source, home)
    models = [string_of(one, "llm") for one in keys.values() if isinstance(one, dict)]
    try:
        meant = DefinitionSource(tasks, told, source.files).mapping
    except DefinitionUnreadable:
        meant = {}
    yield Definition(
        name=home.rpartition("/")[2] or crew or "crew",
        place=source.place,
        models=models_of(*models),
        files=(home or source.folder, source.path, tasks),
        root=project,
        runtime={
            "type": "python",
            "target": f"{relpath(module, project or '.')}:{crew}",
            "framework": "crewai",
        }
        if module
        else None,
        refusal=_NO_CREW,
        means={"agents": keys, "tasks": meant},
    )


def _project(source: DefinitionSource, home: str) -> str:
    """Return the folder of the project that a crew belongs to: what says its packages, else what
    has `src`.
    """
    for name in ("pyproject.toml", "requirements.txt"):
        if found := next(source.files.above(home, name), ""):
            return found.rpartition("/")[0]
    return home.rpartition("/src/")[0]


def _crews(source: DefinitionSource, home: str) -> Iterator[tuple[str, str]]:
    """Yield the modules beside or above `config/` that make a crew, with its class."""
    for folder in dict.fromkeys((home, home.rpartition("/")[0])):
        for name in _MODULES:
            path = f"{folder}/{name}".lstrip("/")
            found = _CREW.search(source.files.text(path) or "")
            if found is not None:
                yield path, found[1]


def read_langgraph(source: DefinitionSource) -> Iterator[Definition]:
    """Return every graph of a file."""
    try:
        keys = json.loads(source.text)
    except (ValueError, RecursionError) as error:
        raise source.refused(f"This is no JSON: {str(error)[:200]}.") from None
    graphs = value_at(keys, "graphs")
    if not isinstance(graphs, dict):
        raise source.refused("This file names no `graphs`.")
    node = "node_version" in keys
    for name, value in graphs.items():
        written = string_of(value) or string_of(
            value.get("path") if isinstance(value, dict) else ""
        )
        path, _, found = written.removeprefix("./").rpartition(":")
        node = node or path.endswith((".ts", ".js", ".mjs", ".tsx"))
        target = f"{path}:{found}" if node else f"langgraph.json:{name}"
        runtime: JsonObject = {
            "type": "node" if node else "python",
            "target": target,
            "framework": "langgraph",
        }
        yield Definition(
            name=str(name),
            place=source.place,
            files=(source.folder or source.path,),
            root=source.folder,
            runtime=runtime if path and found else None,
            refusal="It does not say which object of which file the graph is.",
            means={"graph": written, **without(keys, "graphs", "env")},
        )
