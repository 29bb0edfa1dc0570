"""Cursor: its rules (`.cursor/rules/**/*.mdc`, `.cursorrules`) and agents (`.cursor/agents/*.md`).

Sources: https://cursor.com/docs/context/rules and https://cursor.com/docs/context/subagents. Rules
are no agents by themselves: together with `AGENTS.md` they are what Cursor is told. Its command
line takes no address for its models (https://docs.litellm.ai/docs/tutorials/cursor_integration), so
it is not started: nobody would see what it asked, and with which key.
"""

from __future__ import annotations

from collections.abc import Iterator

from gateval.formats.definitions.base import (
    Definition,
    Files,
    Source,
    markdown,
    text_of,
    without,
)

REFUSAL = (
    "Cursor's command line takes no address for its models, so what it asks cannot be led through "
    "the gateway, and it is not started."
)


def _root(path: str) -> str:
    before, found, _ = f"/{path}".partition("/.cursor/")
    return before.strip("/") if found else path.rpartition("/")[0]


def shared(files: Files, root: str) -> tuple[str, ...]:
    """Return the rules of `root` and the instructions in it and above, with what they lead to."""
    rules = [
        one
        for kind in ("cursor-rules", "cursor-rules-old")
        for one in files.others.get(kind, ())
        if not root or one.startswith(f"{root}/")
    ]
    return files.reached([*rules, *files.above(root, "AGENTS.md", "CLAUDE.md")])


def read_rules(source: Source) -> Iterator[Definition]:
    """Return Cursor itself in a folder with rules; each of them gives the same."""
    _, body = markdown(source, lenient=True)
    root = _root(source.path)
    files = shared(source.files, root)
    yield Definition(
        name="cursor",
        place=source.place,
        system=body.strip() if len(files) == 1 else "",
        files=files,
        root=root,
        refusal=REFUSAL,
    )


def read_agent(source: Source) -> Iterator[Definition]:
    """Return a sub-agent."""
    keys, body = markdown(source)
    root = _root(source.path)
    yield Definition(
        name=text_of(keys.get("name")) or source.stem,
        place=source.place,
        system=body.strip(),
        files=(*source.files.reached([source.path]), *shared(source.files, root)),
        root=root,
        refusal=REFUSAL,
        means=without(keys, "name"),
    )
