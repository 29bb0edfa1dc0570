"""Crews of CrewAI, as `config/agents.yaml` and `config/tasks.yaml` say them.

Source: https://docs.crewai.com/en/concepts/agents and /tasks. The files belong to the `@CrewBase`
class that names them; the bridge of CrewAI starts it, and its project is its closure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import relpath

from gateval.domain.base import JsonObject
from gateval.domain.paths import resolve_path
from gateval.formats.definitions.base import Definition, Source, Unreadable, models_of, text_of

_CREW = re.compile(r"^@(?:\w+\.)?CrewBase\b[^\n]*\n(?:@[^\n]*\n)*class (\w+)", re.MULTILINE)
_MODULES = ("crew.py", "crews.py", "main.py", "flow.py")
_NO_CREW = (
    "No class with `@CrewBase` beside or above `config/` says how these agents work together."
)


def is_crew(keys: JsonObject) -> bool:
    """Whether a mapping holds agents of a crew: each has a role and a goal."""
    told = [one for one in keys.values() if isinstance(one, dict)]
    return bool(told) and len(told) == len(keys) and all("role" in o and "goal" in o for o in told)


def read(source: Source) -> Iterator[Definition]:
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
    project = next(source.files.above(home, "pyproject.toml"), "").rpartition("/")[0]
    models = [text_of(one.get("llm")) for one in keys.values() if isinstance(one, dict)]
    try:
        meant = Source(tasks, told, source.files).mapping
    except Unreadable:
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


def _crews(source: Source, home: str) -> Iterator[tuple[str, str]]:
    """Yield the modules beside or above `config/` that make a crew, with its class."""
    for folder in dict.fromkeys((home, home.rpartition("/")[0])):
        for name in _MODULES:
            path = f"{folder}/{name}".lstrip("/")
            found = _CREW.search(source.files.text(path) or "")
            if found is not None:
                yield path, found[1]
