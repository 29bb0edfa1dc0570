"""Gemini's command line: itself as `GEMINI.md` and its settings say, and `.gemini/agents/*.md`.

Sources: https://geminicli.com/docs/cli/gemini-md (the folder and those above, imports by `@path`)
and https://geminicli.com/docs/core/subagents (asked by `@name`).
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


def _root(path: str) -> str:
    before, found, _ = f"/{path}".partition("/.gemini/")
    return before.strip("/") if found else path.rpartition("/")[0]


def shared(files: Files, root: str) -> tuple[str, ...]:
    """Return what Gemini is told wherever it works in `root`."""
    settings = f"{root}/.gemini/settings.json".lstrip("/")
    agents = [one for one in files.others.get("gemini-agents", ()) if _root(one) == root]
    return files.reached([*files.above(root, "GEMINI.md", "AGENTS.md"), settings, *agents])


def read_memory(source: Source) -> Iterator[Definition]:
    """Return Gemini itself, as a repository has it work."""
    root = _root(source.path)
    yield Definition(
        name="gemini",
        place=source.place,
        system=source.text.strip(),
        files=(source.path, *shared(source.files, root)),
        root=root,
        line=CommandLine("gemini"),
    )


def read_agent(source: Source) -> Iterator[Definition]:
    """Return a sub-agent, which Gemini is told to ask."""
    keys, body = markdown(source)
    root = _root(source.path)
    name = text_of(keys.get("name")) or source.stem
    model = model_name(text_of(keys.get("model")))
    yield Definition(
        name=name,
        place=source.place,
        models=(model,) if model else (),
        system=body.strip(),
        tools=tools_of(words(keys.get("tools"))),
        files=(*source.files.reached([source.path]), *shared(source.files, root)),
        root=root,
        line=CommandLine("gemini", asked=f"@{name} {{{{ prompt }}}}"),
        means=without(keys, "name"),
    )
