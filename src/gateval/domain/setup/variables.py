"""Variables of the environment that a program reads, by what its text and its examples say."""

from __future__ import annotations

import re

ENV_EXAMPLES = (".env.example", ".env.sample", ".env.template", "env.example")
"""Files that list what has to be set."""

_READ = re.compile(
    r"os\.environ\[\s*[\"'](?P<index>[A-Z][A-Z0-9_]+)[\"']\s*\](?!\s*=[^=])"
    r"|(?:os\.getenv|os\.environ\.get)\(\s*[\"'](?P<get>[A-Z][A-Z0-9_]+)[\"']\s*\)"
    r"|process\.env\.(?P<node>[A-Z][A-Z0-9_]+)\b(?!\s*(?:\?\?|\|\||=[^=]))"
)
_LISTED = re.compile(r"^[ \t]*(?:export )?([A-Z][A-Z0-9_]+)[ \t]*=", re.M)
_GIVEN = re.compile(
    r"(?:OPENAI|ANTHROPIC|GEMINI|OPENROUTER|AZURE_OPENAI)_\w*|GOOGLE_(?:API_KEY|GEMINI_\w+|GENAI_\w+)"
    r"|(?:LANGSMITH|LANGCHAIN|LANGFUSE|OTEL|NEXT_PUBLIC|VERCEL|NODE|PYTHON|GITHUB|LOG|DEBUG)_?\w*"
    r"|PORT|HOST|HOME|PATH|USER|PWD|TMPDIR|CI|SHELL|ENV|LANG|TZ|MODEL"
)
"""What the gate sets itself, what is only for tracing, and what is no matter of the agent's."""


def variables_of(text: str, *, example: bool = False) -> tuple[str, ...]:
    """Return the variables that a program reads without a default, or that an example lists."""
    if example:
        found = _LISTED.findall(text)
    else:
        found = [next(filter(None, one.groups())) for one in _READ.finditer(text)]
    return tuple(dict.fromkeys(name for name in found if not _GIVEN.fullmatch(name)))
