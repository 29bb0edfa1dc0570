"""The formats of definitions. One more is one file and one line here.

A path says most: only what is YAML is told by a look into it. Importing this stays cheap, for every
file of a tree is asked; a reader is loaded when there is something for it to read.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import NamedTuple

from gateval.formats.definitions.base import Read


class DefinitionFormat(NamedTuple):
    """Files of one kind: where they are (a part of a regular expression), a word that stands in
    them, and what reads them as `module:function`; nothing for what only belongs to others.
    `shared` says that all of one folder together are one agent.
    """

    kind: str
    paths: str
    word: bytes = b""
    reader: str = ""
    shared: bool = False

    def load(self) -> Read:
        """Import the reader."""
        module, _, name = self.reader.partition(":")
        read: Read = getattr(import_module(f"gateval.formats.definitions.{module}"), name)
        return read


_YAML = r"[^/]+\.ya?ml"

FORMATS: tuple[DefinitionFormat, ...] = (
    DefinitionFormat(
        "claude-agents",
        r"\.claude/agents/(?:.+/)?[^/]+\.md",
        b"",
        "coding_agents:read_claude_agent",
    ),
    DefinitionFormat("claude-rules", r"\.claude/rules/(?:.+/)?[^/]+\.md"),
    DefinitionFormat("skills", r"SKILL\.md", b"", "coding_agents:read_skill"),
    DefinitionFormat(
        "copilot-agents",
        r"\.github/agents/[^/]+\.md|[^/]+\.agent\.md|[^/]+\.chatmode\.md",
        b"",
        "coding_agents:read_copilot_agent",
    ),
    DefinitionFormat(
        "copilot-prompts", r"[^/]+\.prompt\.md", b"", "coding_agents:read_copilot_prompt"
    ),
    DefinitionFormat(
        "copilot",
        r"\.github/copilot-instructions\.md",
        b"",
        "coding_agents:read_copilot",
        shared=True,
    ),
    DefinitionFormat(
        "copilot-instructions", r"\.github/instructions/(?:.+/)?[^/]+\.instructions\.md"
    ),
    DefinitionFormat(
        "codex-agents", r"\.codex/agents/[^/]+\.toml", b"", "coding_agents:read_codex_agent"
    ),
    DefinitionFormat(
        "codex", r"\.codex/config\.toml", b"", "coding_agents:read_codex", shared=True
    ),
    DefinitionFormat(
        "cursor-agents", r"\.cursor/agents/[^/]+\.md", b"", "coding_agents:read_cursor_agent"
    ),
    DefinitionFormat(
        "cursor-rules",
        r"\.cursor/rules/(?:.+/)?[^/]+\.mdc",
        b"",
        "coding_agents:read_cursor_rules",
        shared=True,
    ),
    DefinitionFormat(
        "cursor-rules-old", r"\.cursorrules", b"", "coding_agents:read_cursor_rules", shared=True
    ),
    DefinitionFormat(
        "gemini-agents", r"\.gemini/agents/[^/]+\.md", b"", "coding_agents:read_gemini_agent"
    ),
    DefinitionFormat("gemini", r"GEMINI\.md", b"", "coding_agents:read_gemini", shared=True),
    DefinitionFormat("kagent", _YAML, b"kagent.dev/v1", "prompts:read_kagent"),
    DefinitionFormat("microsoft", _YAML, b"kind: Prompt", "prompts:read_microsoft"),
    DefinitionFormat("adk", r"root_agent\.ya?ml", b"", "frameworks:read_adk"),
    DefinitionFormat("crewai", r"agents\.ya?ml", b"goal:", "frameworks:read_crew"),
    DefinitionFormat("github-models", r"[^/]+\.prompt\.ya?ml", b"", "prompts:read_github_models"),
    DefinitionFormat("langgraph", r"langgraph\.json", b"", "frameworks:read_langgraph"),
    DefinitionFormat("cagent", _YAML, b"instruction:", "prompts:read_cagent"),
)
"""In the order in which they are asked; the first that knows a file has it."""

_ENDINGS = (
    "langgraph.json", "SKILL.md", "GEMINI.md", ".agent.md", ".chatmode.md", ".prompt.md",
    ".instructions.md", ".mdc", ".cursorrules",
)  # fmt: skip
_YAML_ENDINGS = ("root_agent.yaml", "root_agent.yml", ".prompt.yaml", ".prompt.yml")
"""How the names of definitions end that a path tells; others lie in a hidden folder. Trees have a
hundred thousand paths, so this is asked before anything slower.
"""

_PATHS = re.compile(
    "|".join(
        rf"(?P<f{at}>(?:^|.*/)(?:{one.paths}))" for at, one in enumerate(FORMATS) if not one.word
    )
)
_WORDED = tuple((re.compile(rf"(?:^|.*/)(?:{one.paths})"), one) for one in FORMATS if one.word)


def by_path(path: str) -> DefinitionFormat | None:
    """Return the format of a file that its path tells."""
    if not (is_named(path) or path.endswith(_YAML_ENDINGS)):
        return None
    found = _PATHS.fullmatch(path)
    return FORMATS[int((found.lastgroup or "f0")[1:])] if found else None


def is_named(path: str) -> bool:
    """Whether a file that is no YAML may be a definition, or belong to some."""
    hidden = path.endswith((".md", ".toml")) and "/." in f"/{path}"
    return hidden or path.endswith(_ENDINGS)


def format_of(path: str, data: bytes) -> DefinitionFormat | None:
    """Return the format of a file; None for what is no definition."""
    found = by_path(path)
    if found is not None or not path.endswith((".yaml", ".yml")):
        return found
    return next((one for told, one in _WORDED if one.word in data and told.fullmatch(path)), None)
