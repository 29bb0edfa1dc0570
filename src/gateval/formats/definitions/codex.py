"""Codex: its agents (`.codex/agents/*.toml`), and itself as `.codex/config.toml` says.

Sources: https://developers.openai.com/codex/subagents and
https://developers.openai.com/codex/guides/agents-md (`AGENTS.override.md` before `AGENTS.md`, from
the repository's root down to the folder).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.formats.definitions.base import (
    CommandLine,
    Definition,
    Files,
    Source,
    model_name,
    text_of,
    without,
)

_INSTRUCTIONS = ("AGENTS.override.md", "AGENTS.md")


def _root(path: str) -> str:
    before, found, _ = f"/{path}".partition("/.codex/")
    return before.strip("/") if found else path.rpartition("/")[0]


def shared(files: Files, root: str) -> tuple[str, ...]:
    """Return what Codex is told wherever it works in `root`."""
    own = [f"{root}/{one}".lstrip("/") for one in (".codex/config.toml", ".codex/hooks.json")]
    told = files.reached([*files.above(root, *_INSTRUCTIONS), *own])
    return (*told, *files.skills(root, ".agents/skills"))


def _toml(source: Source) -> JsonObject:
    """Return what a file of TOML holds. Raises `Unreadable`."""
    try:
        found = tomllib.loads(source.text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise source.refused(f"This is no TOML: {str(error)[:200]}.") from None
    return {key: _plain(value) for key, value in found.items()}


def _plain(value: object) -> JsonValue:
    """Return a value of TOML as JSON has it: a date is its text."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value if isinstance(value, str | int | bool) else str(value)


def read_agent(source: Source) -> Iterator[Definition]:
    """Return an agent that Codex starts by its name."""
    keys = _toml(source)
    root = _root(source.path)
    name = text_of(keys.get("name")) or source.stem
    model = text_of(keys.get("model"))
    named = model_name(model)
    yield Definition(
        name=name,
        place=source.place,
        models=(named,) if named else (),
        system=text_of(keys.get("developer_instructions")),
        files=(*source.files.reached([source.path]), *shared(source.files, root)),
        root=root,
        line=CommandLine("codex", asked=f"Have the agent `{name}` do this: {{{{ prompt }}}}"),
        model=model,
        means=without(keys, "name", "developer_instructions"),
    )


def read_config(source: Source) -> Iterator[Definition]:
    """Return Codex itself, as the configuration of a repository has it work."""
    keys = _toml(source)
    root = _root(source.path)
    model = text_of(keys.get("model"))
    named = model_name(model)
    agents = [one for one in source.files.others.get("codex-agents", ()) if _root(one) == root]
    yield Definition(
        name="codex",
        place=source.place,
        models=(named,) if named else (),
        files=(source.path, *source.files.reached(agents), *shared(source.files, root)),
        root=root,
        line=CommandLine("codex"),
        means=keys,
    )
