"""Which files are started, and not imported: by what they say and what project files name."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Container, Iterator, Mapping
from posixpath import dirname, join, normpath, splitext

from gateval.domain.setup.programs.asking import reads_arguments
from gateval.domain.setup.programs.golang import is_go_entry
from gateval.domain.setup.programs.serving import server_of

_GUARD = re.compile(r"^if __name__ == [\"']__main__[\"']", re.M)
_AT_TOP = re.compile(
    r"^(?!(?:async )?def |class |from |import |@|#)\S.*"
    r"(?:sys\.argv|\binput\(|sys\.stdin|parse_args\(\))"
    r"|^(?:asyncio\.run\(|sys\.exit\()?(?:main|cli|app)\(",
    re.M,
)
_BUILT = re.compile(r"^(?:dist|build|lib|out)/")
_SOURCES = (".ts", ".mts", ".tsx", ".js", ".mjs")


def has_guard(text: str) -> bool:
    """Whether a Python file does something only where it is started."""
    return bool(_GUARD.search(text))


def is_entry(path: str, text: str, behind: str = "") -> bool:
    """Whether a file is started: it says so, serves, or reads arguments or standard input.

    `behind` are the texts of the files that it imports.
    """
    if path.endswith(".go"):
        return is_go_entry(text)
    if server_of(path, text, behind):
        return True
    if path.endswith(".py"):
        return has_guard(text) or bool(_AT_TOP.search(text))
    return reads_arguments(text)


def declared(projects: Mapping[str, str], files: Container[str]) -> dict[str, str]:
    """Return the files that project files name as programs, each with its function ("" for all).

    `projects` are paths and texts of project files, `files` all tracked paths.
    """
    found = {}
    for path, text in projects.items():
        named = (
            _of_python(text) if path.endswith(".toml") else _of_node(text)
        )  # other text is no JSON
        for target, function in named:
            for candidate in _places(target):
                place = normpath(join(dirname(path), candidate))
                if place in files:
                    found[place] = function
                    break
    return found


def _of_python(text: str) -> Iterator[tuple[str, str]]:
    try:
        whole = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    for table in (("project", "scripts"), ("tool", "poetry", "scripts")):
        for target in _words(_at(whole, *table)):
            module, colon, function = target.partition(":")
            if colon and re.fullmatch(r"[\w.]+", module) and re.fullmatch(r"\w+", function):
                yield f"{module.replace('.', '/')}.py", function


def _of_node(text: str) -> Iterator[tuple[str, str]]:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return
    scripts = _at(whole, "scripts")
    start = scripts.get("start") if isinstance(scripts, dict) else None
    named = [_at(whole, "bin"), _at(whole, "main"), str(start or "").split()]
    yield from ((word, "") for one in named for word in _words(one) if splitext(word)[1])


def _places(target: str) -> Iterator[str]:
    """Give where the file may be: as named, below `src`, as a package, or before it was built."""
    yield target
    yield f"src/{target}"
    stem = splitext(target.removeprefix("./"))[0]
    if target.endswith(".py"):
        yield from (f"{stem}/__init__.py", f"src/{stem}/__init__.py")
        return
    for folder in ("src/", ""):
        yield from (f"{_BUILT.sub(folder, stem)}{ending}" for ending in _SOURCES)


def _at(value: object, *keys: str) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _words(value: object) -> list[str]:
    found = list(value.values()) if isinstance(value, dict) else value
    return [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, str)]
