"""Claude Code: sub-agents (`.claude/agents/**/*.md`) and skills (`SKILL.md` with its folder).

Sources: https://code.claude.com/docs/en/sub-agents, https://code.claude.com/docs/en/skills and
https://code.claude.com/docs/en/memory (`CLAUDE.md` of the folder and of those above, its imports by
`@path`). Skills that others keep (`.agents/skills`, `.github/skills`) are the same files.
"""

from __future__ import annotations

from collections.abc import Iterator

from gateval.formats.definitions.base import (
    CommandLine,
    Definition,
    Files,
    Source,
    markdown,
    model_name,
    text_of,
    tools_of,
    without,
    words,
)

_MEMORY = ("CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md")
_SETTINGS = (".claude/settings.json", ".mcp.json")


def _root(path: str, mark: str) -> str:
    """Return the folder in which `.claude/agents` or `.claude/skills` lies."""
    before, found, _ = f"/{path}".partition(f"/{mark}/")
    return before.strip("/") if found else path.rpartition("/")[0]


def shared(files: Files, root: str) -> tuple[str, ...]:
    """Return what every agent of Claude Code in `root` is told, with what that imports."""
    rules = [one for one in files.others.get("claude-rules", ()) if _below(one, root)]
    settings = [f"{root}/{one}".lstrip("/") for one in _SETTINGS]
    return files.reached([*files.above(root, *_MEMORY), *rules, *settings])


def _below(path: str, root: str) -> bool:
    return not root or path.startswith(f"{root}/")


def read_agent(source: Source) -> Iterator[Definition]:
    """Return a sub-agent. Its skills, and the sub-agents that it may start, belong to it."""
    keys, body = markdown(source)
    root = _root(source.path, ".claude/agents")
    name = text_of(keys.get("name")) or source.stem
    tools = words(keys.get("tools"))
    skills = source.files.skills(root, ".claude/skills")
    preloaded = words(keys.get("skills"))
    if tools and "Skill" not in tools:  # without `tools`, it may use all that there is
        skills = [one for one in skills if one.rpartition("/")[2] in preloaded]
    team = _team(source, root, tools)
    reached = source.files.reached([source.path, *team, *(f"{one}/SKILL.md" for one in skills)])
    model = text_of(keys.get("model"))
    yield Definition(
        name=name,
        place=source.place,
        models=tuple(filter(None, (model_name(model),))),
        system=body.strip(),
        tools=tools_of(one.partition("(")[0] for one in tools),
        files=(*reached, *skills, *shared(source.files, root)),
        root=root,
        line=CommandLine("claude", ("--agent", name)),
        means=without(keys, "name"),
    )


def _team(source: Source, root: str, tools: tuple[str, ...]) -> list[str]:
    """Return the files of the sub-agents that one may start: those of `Agent(worker)`, or all of
    its folder where it may start any.
    """
    named: set[str] = set()
    for one in tools:
        called, within, rest = one.partition("(")
        if called.strip() in {"Agent", "Task"}:
            named |= set(words(rest.rstrip(")"))) if within else {""}
    every = not tools or "" in named
    return [
        path
        for path in source.files.others.get("claude-agents", ())
        if path != source.path
        and _root(path, ".claude/agents") == root
        and (every or path.rpartition("/")[2].removesuffix(".md") in named)
    ]


_PLACES = {
    ".claude/skills": ("claude", "/{name} {{{{ prompt }}}}"),
    ".agents/skills": ("codex", "${name} {{{{ prompt }}}}"),
    ".github/skills": ("copilot", "Use the skill {name}. {{{{ prompt }}}}"),
}
"""Where a coding agent finds a skill by itself, and how it is asked for it."""


def read_skill(source: Source) -> Iterator[Definition]:
    """Return a skill, with its whole folder: asked by its name in the agent that finds it there."""
    keys, body = markdown(source)
    folder = source.folder
    name = text_of(keys.get("name")) or folder.rpartition("/")[2] or "skill"
    mark = next((one for one in _PLACES if f"/{one}/" in f"/{folder}/"), "")
    root = _root(source.path, mark) if mark else folder
    program, asked = _PLACES.get(mark, ("", ""))
    yield Definition(
        name=name,
        place=source.place,
        system=body.strip(),
        tools=tools_of(one.partition("(")[0] for one in words(keys.get("allowed-tools"))),
        files=(
            folder or source.path,
            *source.files.reached([source.path]),
            *shared(source.files, root),
        ),
        root=root,
        line=CommandLine(program, asked=asked.format(name=name)) if mark else None,
        refusal="No coding agent finds a skill in this folder by itself, so none is started.",
        means=without(keys, "name"),
    )
