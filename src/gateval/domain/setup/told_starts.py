"""Which files people are told to start: commands in READMEs and in the files that run a service.

A README's `python main.py` is the best hint that there is, and no more: what it names is still read
as any other program is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping
from posixpath import basename, dirname, join, normpath

from gateval.domain.strict_json import value_at

TELLING = ("README.md", "readme.md", "Readme.md", "README.rst", "README", "Procfile", "Dockerfile")
"""Files whose commands start programs."""

_FILE = re.compile(
    r"\b(?:python[\d.]*|uv +run|poetry +run|bun(?: +run)?|node|tsx|ts-node|fastapi +(?:dev|run)|"
    r"(?:streamlit|chainlit) +run|flask +--app)\b(?: +(?:--?[\w-]+(?:=\S+)?|python[\d.]*))*"
    r" +([\w./-]+\.(?:py|[cm]?[jt]s|tsx))\b"
)
_MODULE = re.compile(r"\bpython[\d.]* +(?:-u +)?-m +([a-zA-Z_][\w.]*)")
_SERVED = re.compile(r"\b(?:uvicorn|gunicorn|hypercorn|granian)\b[^\n`|&;]*? ([a-zA-Z_][\w.]*):\w+")
_SCRIPT = re.compile(r"\b(?:npm|pnpm|yarn|bun)(?: +run)? +(start|dev|chat|agent|cli)\b(?!:)")
_MARKS = re.compile(r"[\"',\[\]]+")


def told_starts(
    texts: Mapping[str, str], projects: Mapping[str, str], files: Container[str]
) -> dict[str, int]:
    """Return the files that are told to be started, each with its place in the order of telling.

    `texts` are those of `TELLING` by path, `projects` those of project files, `files` all tracked
    paths. READMEs come before the others, the outermost first.
    """
    found: dict[str, int] = {}
    for path in sorted(texts, key=lambda one: (not _is_readme(one), one.count("/"), one)):
        folder, text = dirname(path), texts[path]
        text = text if _is_readme(path) else _MARKS.sub(" ", text)
        places = sorted((found_at, one) for found_at, one in _named(text, folder, projects))
        for _, named in places:
            for place in _places(named, folder):
                if place in files:
                    found.setdefault(place, len(found))
                    break
    return found


def _is_readme(path: str) -> bool:
    return basename(path).lower().startswith("readme")


def _named(text: str, folder: str, projects: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield what the commands of a text name, with the place of each."""
    for one in _FILE.finditer(text):
        yield one.start(), one[1]
    for pattern in (_MODULE, _SERVED):
        for one in pattern.finditer(text):
            yield one.start(), f"{one[1].replace('.', '/')}.py"
    for one in _SCRIPT.finditer(text):
        project = projects.get(join(folder, "package.json"), "")
        try:
            line = value_at(json.loads(project), "scripts", one[1])
        except (ValueError, RecursionError):
            continue
        for word in str(line or "").split():
            if re.fullmatch(r"[\w./-]+\.(?:[cm]?[jt]s|tsx)", word):
                yield one.start(), word


def _places(named: str, folder: str) -> Iterator[str]:
    """Yield where the file may be: as named, as a package, below `src`, or from the root."""
    stem = named.removesuffix(".py")
    for one in (named, f"{stem}/__main__.py", f"{stem}/__init__.py", f"src/{named}"):
        yield normpath(join(folder, one))
    yield normpath(named)
