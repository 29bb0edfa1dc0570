"""Which files people are told to start: commands in READMEs and in the files that run a service.

A README's `python main.py` is the best hint that there is, and no more: what it names is still read
as any other program is.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Container, Iterator, Mapping
from posixpath import basename, dirname, join, normpath
from typing import NamedTuple

from gateval.domain.setup.program import PROMPT
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
_WORD = re.compile(r"[\w./:@=,+-]+")
_ENDS = re.compile(r"[`|&;>\n]| #")
_MOST_WORDS = 12


class ToldStart(NamedTuple):
    """That a file is told to be started: its place in the order of telling, and the words behind
    it with the question for the sentence among them, if one is shown.
    """

    place: int
    words: tuple[str, ...] = ()


def told_starts(
    texts: Mapping[str, str], projects: Mapping[str, str], files: Container[str]
) -> dict[str, ToldStart]:
    """Return the files that are told to be started.

    `texts` are those of `TELLING` by path, `projects` those of project files, `files` all tracked
    paths. READMEs come before the others, the outermost first.
    """
    found: dict[str, ToldStart] = {}
    for path in sorted(texts, key=lambda one: (not _is_readme(one), one.count("/"), one)):
        folder, text = dirname(path), texts[path]
        text = text if _is_readme(path) else _MARKS.sub(" ", text)
        for _, named, words in sorted(_named(text, folder, projects)):
            place = next((one for one in _places(named, folder) if one in files), "")
            if place:
                told = found.get(place, ToldStart(len(found)))
                found[place] = told._replace(words=told.words or words)
    return found


def _is_readme(path: str) -> bool:
    return basename(path).lower().startswith("readme")


def _named(
    text: str, folder: str, projects: Mapping[str, str]
) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield what the commands of a text name, with the place of each and the words behind it."""
    for one in _FILE.finditer(text):
        yield one.start(), one[1], _asking(text[one.end() :])
    for pattern in (_MODULE, _SERVED):
        for one in pattern.finditer(text):
            yield one.start(), f"{one[1].replace('.', '/')}.py", _asking(text[one.end() :])
    for one in _SCRIPT.finditer(text):
        project = projects.get(join(folder, "package.json"), "")
        try:
            line = value_at(json.loads(project), "scripts", one[1])
        except (ValueError, RecursionError):
            continue
        for word in str(line or "").split():
            if re.fullmatch(r"[\w./-]+\.(?:[cm]?[jt]s|tsx)", word):
                yield one.start(), word, ()


def _asking(rest: str) -> tuple[str, ...]:
    """Return the words of a command that shows a sentence, with the question for it; else none."""
    if not rest.startswith(" "):
        return ()
    line = _ENDS.split(rest.replace("\\\n", " "), maxsplit=1)[0]
    try:
        words = shlex.split(line)
    except ValueError:
        return ()
    asked = [one for one in words if " " in one and one.isprintable()]
    plain = all(_WORD.fullmatch(one) for one in words if one not in asked)
    if len(asked) != 1 or not plain or len(words) > _MOST_WORDS:
        return ()
    return tuple(PROMPT if one == asked[0] else one for one in words)


def _places(named: str, folder: str) -> Iterator[str]:
    """Yield where the file may be: as named, as a package, below `src`, or from the root."""
    stem = named.removesuffix(".py")
    for one in (named, f"{stem}/__main__.py", f"{stem}/__init__.py", f"src/{named}"):
        yield normpath(join(folder, one))
    yield normpath(named)
