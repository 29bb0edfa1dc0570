"""GitHub Copilot: agents (`.github/agents/*.md`, `*.agent.md`, `*.chatmode.md`) and prompts.

Sources: https://docs.github.com/en/copilot/reference/custom-agents-configuration and
https://code.visualstudio.com/docs/agent-customization (agents, prompt files, instructions). All of
them are told `.github/copilot-instructions.md`, the instructions of the folder and `AGENTS.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import JsonValue

from gateval.formats.definitions.base import (
    CommandLine,
    Definition,
    Files,
    Markdown,
    Source,
    markdown,
    model_name,
    objects,
    text_of,
    tools_of,
    without,
    words,
)

NO_MODEL = "Copilot's command line asks the model that it is told, and this file names none."


def _root(path: str) -> str:
    """Return the folder in which `.github` lies; for others, the repository's root."""
    before, found, _ = f"/{path}".partition("/.github/")
    return before.strip("/") if found else ""


def shared(files: Files, root: str) -> tuple[str, ...]:
    """Return what Copilot is told wherever it works in `root`, with what that leads to."""
    own = f"{root}/.github/copilot-instructions.md".lstrip("/")
    parts = [
        one
        for one in files.others.get("copilot-instructions", ())
        if not root or one.startswith(f"{root}/")
    ]
    told = files.reached([own, *parts, *files.above(root, "AGENTS.md", "CLAUDE.md", "GEMINI.md")])
    return (*told, *files.skills(root, ".github/skills", ".claude/skills", ".agents/skills"))


def _model(keys: Markdown) -> tuple[str, str]:
    """Return the model as `provider/model-id` and as Copilot's command line takes it: its id.

    What VS Code shows (`Claude Sonnet 4.5 (copilot)`) is the id with blanks and capitals.
    """
    value: JsonValue = keys.keys.get("model")
    first = next(iter(words(value)), "")
    plain = re.sub(r"\s*\([^()]*\)$", "", first).strip().lower().replace(" ", "-")
    if plain.startswith("claude-"):
        plain = plain.replace(".", "-")  # as its maker writes it
    return model_name(plain), plain


def read_agent(source: Source) -> Iterator[Definition]:
    """Return an agent, or a chat mode as agents were called before, with those it hands over to."""
    read = markdown(source)
    root = _root(source.path)
    others = source.files.others.get("copilot-agents", ())
    handed = (text_of(one.get("agent")) for one in objects(read.keys.get("handoffs")))
    wanted = {*words(read.keys.get("agents")), *handed}
    team = [one for one in others if _called(one) in wanted and one != source.path]
    named, model = _model(read)
    yield Definition(
        name=_called(source.path),
        place=source.place,
        models=(named,) if named else (),
        system=read.body.strip(),
        tools=tools_of(words(read.keys.get("tools"))),
        files=(*source.files.reached([source.path, *team]), *shared(source.files, root)),
        root=root,
        line=CommandLine("copilot", ("--agent", _called(source.path))),
        model=model,
        refusal=NO_MODEL,
        means={**read.keys},
    )


def _called(path: str) -> str:
    """Return what Copilot calls an agent: its file's name without the endings."""
    return re.sub(r"(?:\.agent|\.chatmode)?\.md$", "", path.rpartition("/")[2])


def read_prompt(source: Source) -> Iterator[Definition]:
    """Return a prompt file: its text, and what is asked behind it."""
    read = markdown(source)
    root = _root(source.path)
    named, model = _model(read)
    others = source.files.others.get("copilot-agents", ())
    agent = text_of(read.keys.get("agent")) or text_of(read.keys.get("mode"))
    team = [one for one in others if _called(one) == agent]
    arguments = ("--agent", agent) if team else ()
    yield Definition(
        name=source.stem,
        place=source.place,
        models=(named,) if named else (),
        system=read.body.strip(),
        tools=tools_of(words(read.keys.get("tools"))),
        files=(*source.files.reached([source.path, *team]), *shared(source.files, root)),
        root=root,
        line=CommandLine("copilot", arguments, asked="{{ agent.system }}\n\n{{ prompt }}"),
        model=model,
        refusal=NO_MODEL,
        means=without(read.keys, "name"),
    )


def read_instructions(source: Source) -> Iterator[Definition]:
    """Return Copilot itself, as the instructions of a repository have it work."""
    root = _root(source.path)
    yield Definition(
        name="copilot",
        place=source.place,
        system=source.text.strip(),
        files=(source.path, *shared(source.files, root)),
        root=root,
        line=CommandLine("copilot"),
        refusal=NO_MODEL,
    )
