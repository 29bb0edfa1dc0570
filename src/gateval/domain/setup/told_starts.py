"""Which files people are told to start: commands in READMEs and in the files that run a service,
and those that project files name.

A README's `python main.py` is the best hint that there is, and no more: what it names is still read
as any other program is.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Container, Iterator, Mapping
from posixpath import basename, dirname, join, normpath, splitext
from typing import NamedTuple

from gateval.domain.setup.beside import COMPOSE_FILES
from gateval.domain.setup.invocation import PROMPT
from gateval.domain.setup.other_work import names_other_work
from gateval.domain.strict_json import value_at

TELLING = (
    *("README.md", "readme.md", "Readme.md", "README.rst", "README", "Procfile", "Dockerfile"),
    *COMPOSE_FILES,
)
"""Files whose commands start programs."""

FILE = re.compile(
    r"\b(?:python[\d.]*|uv +run|poetry +run|bun(?: +run)?|node|tsx|ts-node|fastapi +(?:dev|run)|"
    r"(?:streamlit|chainlit) +run|flask +--app)\b(?: +(?:-[\w-]+(?:=\S+)?|python[\d.]*))*"
    r" +([\w./-]+\.(?:py|[cm]?[jt]s|tsx))\b"
)
"""A command that starts a program by its file."""
_MODULE = re.compile(r"\b(?:python[\d.]*|uv +run) +(?:-u +)?-m +([a-zA-Z_][\w.]*)")
_SERVED = re.compile(
    r"\b(?:uvicorn|gunicorn|hypercorn|granian)\b[^\n`|&;]{0,500}? ([a-zA-Z_][\w.]*):\w+"
)
_SCRIPT = re.compile(
    r"\b(?:npm|pnpm|yarn|bun)(?: +(?:-F|--filter) +[\w@/-]+)?(?: +run)?"
    r" +(start:[\w:-]*\w|(?:start|dev|chat|agent|cli)\b(?!:))"
)
_MARKS = re.compile(r"[\"',\[\]]+")
_WORD = re.compile(r"[\w./:@=,+-]+")
_QUOTED = re.compile(r"[\"']([^\"'\n]+)[\"']")
_LINE = re.compile(r"""(?:"[^"\n`]*"|'[^'\n`]*'|(?! \#)[^`|&;>\n])*""")
"""What belongs to a command: all up to a mark of the shell that stands in no quotes."""
_MOST_WORDS = 12
_MOST_TOML = 60_000


_DOCUMENT = re.compile(
    r"[\w./*][\w./*-]*\.(?:py|[jt]s|txt|md|pdf|docx?|csv|tsv|xlsx?|html?|json|ya?ml|png|jpe?g|gpx)"
)
"""How a file is called that a command is shown to take."""


class ToldStart(NamedTuple):
    """That a file is told to be started: its place in the order of telling, and the words behind
    it with the question for the sentence among them, if one is shown. Where only one with a `file`
    is, the question stands for that, and there are no words if the repository has no such file.
    """

    place: int
    words: tuple[str, ...] = ()
    file: str = ""


def told_starts(
    texts: Mapping[str, str], projects: Mapping[str, str], files: Container[str]
) -> dict[str, ToldStart]:
    """Return the files that are told to be started.

    `texts` are those of `TELLING` by path, `projects` those of project files, `files` all tracked
    paths. READMEs come before the others, the outermost first.
    """
    found: dict[str, ToldStart] = {}
    for path in sorted(texts, key=lambda one: (not is_readme(one), one.count("/"), one)):
        folder, text = dirname(path), texts[path]
        text = text if is_readme(path) else _MARKS.sub(" ", text)
        named = [*_named(text, folder, projects), *_scripts(text, folder, projects)]
        for _, file, rest in sorted(named):
            place = next((one for one in _places(file, folder) if one in files), "")
            if place:
                told = found.get(place, ToldStart(len(found)))
                words, taken = _asking(rest)
                taken = taken and normpath(join(folder, taken))
                words = () if taken and taken not in files else words
                found[place] = max(told, ToldStart(told.place, words, taken), key=_worth)
    return found


_FILLS = re.compile(
    r"^[ \t>]*(?:\d+\. +)?[`$]{0,4} *((?:(?:uv|poetry|pipenv) +run|python[\d.]*|npx|tsx|node"
    r"|(?:npm|pnpm|yarn|bun)(?: +run)?|flask|docker[ -]compose +(?:run|exec)|make)\b"
    r"[^\n`|&;#]{0,100}?(?<![a-z])(?:ingest\w*|seed\w*|populate|\w{1,20}[_:-]init"
    r"|(?:load|create|build|init|setup|index|prepare|download|embed|import|fetch|upload|generate)"
    r"[-_:]?(?:db|database|data\w*|docs?|documents?|index\w*|vector\w*|embeddings?|tables?"
    r"|collections?|models?|files|kb|knowledge\w*|graph)"
    r"|data[-_](?:load|insert|ingest|import|prepar)\w*|add[-_]?[Ee]mbeddings?)(?![a-z])[^\n`|&;#]{0,100})",
    re.M,
)
"""A command that fills or fetches what a program needs before it is asked."""


def told_fillings(readme: str, files: Container[str], folder: str) -> tuple[str, ...]:
    """Return the commands by which people are told to fill or fetch what a program needs first;
    what they start has to be here.
    """
    found = []
    for one in _FILLS.finditer(readme):
        named = FILE.search(one[1])
        if not named or any(place in files for place in _places(named[1], folder)):
            found.append(" ".join(one[1].split()))
    return tuple(dict.fromkeys(found))


def _worth(told: ToldStart) -> tuple[bool, bool, bool]:
    """A sentence is worth more than a file that is there, and that more than one that is not."""
    return bool(told.words and not told.file), bool(told.words), bool(told.file)


def is_readme(path: str) -> bool:
    """Whether a file is a README by its name."""
    return basename(path).lower().startswith("readme")


def _named(text: str, folder: str, projects: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    """Yield what the commands of a text name, with the place of each and what stands behind it."""
    for one in FILE.finditer(text):
        yield one.start(), one[1], _rest(text, one.end())
    for pattern in (_MODULE, _SERVED):
        for one in pattern.finditer(text):
            yield one.start(), f"{one[1].replace('.', '/')}.py", _rest(text, one.end())
    for one in _SCRIPT.finditer(text):
        project = projects.get(join(folder, "package.json"), "")
        try:
            line = value_at(json.loads(project), "scripts", one[1])
        except (ValueError, RecursionError):
            continue
        for word in str(line or "").split():
            if re.fullmatch(r"[\w./-]+\.(?:[cm]?[jt]s|tsx)", word):
                yield one.start(), word, ""


def _scripts(text: str, folder: str, projects: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    """Yield the same of commands that a project of Python installs under a name of its own."""
    for path, project in projects.items():
        if basename(path) != "pyproject.toml" or dirname(path) not in {folder, ""}:
            continue
        for name, file, _ in _installed(project):
            called = rf"^[ \t]*(?:\$ +)?(?:uv +run +|poetry +run +|uvx +)?{re.escape(name)}(?= )"
            for one in re.finditer(called, text, re.M):
                yield one.start(), file, _rest(text, one.end())


def _rest(text: str, start: int) -> str:
    """Return what stands behind a command on its line, which may go on below it."""
    rest = text[start : start + 1_000].replace("\\\n", " ")
    found = _LINE.match(rest) if rest.startswith(" ") else None
    return found[0] if found else ""


def _asking(line: str) -> tuple[tuple[str, ...], str]:
    """Return the words of a command that shows a sentence, with the question for it, and the file
    in one that shows none; else nothing.
    """
    try:
        words = shlex.split(line)
    except ValueError:
        return (), ""
    before = ["", *words]
    placed = [one for one, last in zip(words, before, strict=False) if last[:1] != "-"]
    quoted = [one for one in _QUOTED.findall(line) if one in placed]
    asked = [one for one in words if " " in one and one.isprintable()]
    if len(quoted) > (len(asked) == 1):  # of several the first is the question
        asked = [one for one in quoted if not _DOCUMENT.fullmatch(one)][:1]
    plain = all(_WORD.fullmatch(one.replace(" ", "")) for one in words if one not in asked)
    if len(asked) > 1 or not plain or len(words) > _MOST_WORDS:
        return (), ""
    files = [one for one in placed if not asked and _DOCUMENT.fullmatch(one)][:1]
    shown = [*asked, *files]
    placed_there = (_placed(one) if one in shown else one for one in words if shown)
    return tuple(placed_there), "".join(files)


_OPTION = re.compile(r"--?(?:[\w-]+=)?")


def _placed(word: str) -> str:
    """Return a word with the question for what stands in it behind an option: `--ask="What?"`."""
    option = _OPTION.match(word)
    return f"{option[0] if option else ''}{PROMPT}"


def _places(named: str, folder: str) -> Iterator[str]:
    """Yield where the file may be: as named, as a package, below `src`, from the root, or from a
    folder that the root was a part of.
    """
    stem = named.removesuffix(".py")
    package = (f"{stem}/__main__.py", f"{stem}/__init__.py")
    for one in (named, *package, f"src/{named}", *(f"src/{one}" for one in package)):
        yield normpath(join(folder, one))
    yield normpath(named)
    parts = normpath(named).split("/")
    for start in range(1, len(parts)):
        inner = "/".join(parts[start:])
        yield from (inner, f"{inner.removesuffix('.py')}/__main__.py")


_BUILT = re.compile(r"^(?:dist|build|lib|out)/")
NODE_SOURCES = (".ts", ".mts", ".tsx", ".js", ".mjs")


def declared(projects: Mapping[str, str], files: Container[str]) -> dict[str, str]:
    """Return the files that project files name as programs, each with its function ("" for all).

    `projects` are paths and texts of project files, `files` all tracked paths.
    """
    found: dict[str, str] = {}
    for path, text in projects.items():
        for target, function in (_of_python if path.endswith(".toml") else _of_node)(text):
            for candidate in _built_of(target):
                place = normpath(join(dirname(path), candidate))
                if place in files:
                    if not names_other_work(f"{function}."):
                        found.setdefault(place, function)
                    break
    return found


def _of_python(text: str) -> Iterator[tuple[str, str]]:
    yield from ((file, function) for _, file, function in _installed(text))


def _installed(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the commands that a project of Python installs: each with its file and function."""
    if len(text) > _MOST_TOML:  # whose reader takes the square of a key's length
        return
    try:
        whole = tomllib.loads(text)
    except (ValueError, RecursionError):  # that of a number with too many digits among them
        return
    for table in (("project", "scripts"), ("tool", "poetry", "scripts")):
        named = value_at(whole, *table)
        for name, target in named.items() if isinstance(named, dict) else ():
            module, colon, function = str(target).partition(":")
            if colon and re.fullmatch(r"[\w.]+", module) and re.fullmatch(r"\w+", function):
                yield name, f"{module.replace('.', '/')}.py", function


def _of_node(text: str) -> Iterator[tuple[str, str]]:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return
    start = value_at(whole, "scripts", "start")
    words = [one.removeprefix("$PWD/") for one in str(start or "").split() if splitext(one)[1]]
    started = [value_at(whole, "bin"), words]
    named = started if any(started) else [value_at(whole, "main")]  # may be that of a library
    yield from ((word, "") for one in named for word in _words(one) if splitext(word)[1])


def _built_of(target: str) -> Iterator[str]:
    """Give where the file may be: as named, below `src`, as a package, or before it was built."""
    yield target
    yield f"src/{target}"
    stem = splitext(target.removeprefix("./"))[0]
    if target.endswith(".py"):
        yield from (f"{stem}/__init__.py", f"src/{stem}/__init__.py")
        return
    for folder in ("src/", ""):
        yield from (f"{_BUILT.sub(folder, stem)}{ending}" for ending in NODE_SOURCES)


def _words(value: object) -> list[str]:
    found = list(value.values()) if isinstance(value, dict) else value
    return [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, str)]
