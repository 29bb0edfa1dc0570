"""How a program is started, and which files are."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Container, Iterator, Mapping
from posixpath import basename, dirname, join, normpath, relpath, splitext
from typing import NamedTuple

from gateval.domain.setup.program import (
    BUILT,
    SetUp,
    is_flask,
    is_go_entry,
    reads_arguments,
    server_of,
)
from gateval.domain.setup.program_install import folders_above

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


_RELATIVE = re.compile(r"^from[ \t]+\.", re.M)


class StartCommand(NamedTuple):
    """A command relative to the program's root, and the folder there that `PYTHONPATH` needs."""

    command: tuple[str, ...]
    modules_in: str = ""


def start_of(
    path: str,
    texts: tuple[str, str],
    root: str,
    imported: Collection[str],
    files: Collection[str],
    *,
    setup: SetUp | None,
    function: str = "",
) -> StartCommand:
    """Return how the program at `path` is started from its `root`.

    `texts` are its own and that of what it imports, `imported` the modules, `a.b` and the like,
    that it and the files below its folder import, `files` all tracked paths. `setup` installs what
    it needs, `function` is the one that its project file names.
    """
    if path.endswith(".go"):
        return StartCommand((BUILT,))
    file = relpath(path, root or ".")
    if path.endswith(".py"):
        base = import_root(file, texts[0], root, imported, files)
        return _python(file, texts, base, function, set_up=setup is not None)
    if setup is not None and setup.run[0] == "bun":
        return StartCommand(("bun", file))
    if path.endswith((".ts", ".mts", ".tsx")):
        # As a loader tsx needs no socket, whose path in a private TMPDIR may be too long.
        return StartCommand(("node", "--import", "tsx", file) if setup else ("tsx", file))
    return StartCommand(("node", file))


def _python(
    file: str, texts: tuple[str, str], base: str | None, function: str, *, set_up: bool
) -> StartCommand:
    python = ".venv/bin/python" if set_up else "python3"
    application = server_of(file, *texts)
    is_main = basename(file) == "__main__.py" and dirname(file)
    called = function if not (application or is_main or has_guard(texts[0])) else ""
    if not application and not is_main and not called and base in {None, dirname(file)}:
        return StartCommand((python, file))
    place = base if base is not None else "src" if file.startswith("src/") else ""
    module = splitext(relpath(file, place or "."))[0].replace("/", ".")
    module = module.removesuffix(".__main__").removesuffix(".__init__")
    if called:
        words = f"from {module} import {called}; raise SystemExit({called}())"
        return StartCommand((python, "-c", words), place)
    if not application:
        return StartCommand((python, "-m", module), place)
    served = f"{module}:{application}"
    if is_flask("".join(texts)):
        return StartCommand(
            (python, "-m", "flask", "--app", served, "run", "--port", "{port}"), place
        )
    factory = ("--factory",) if application.endswith("()") else ()
    served = served.removesuffix("()")
    return StartCommand((python, "-m", "uvicorn", served, *factory, "--port", "{port}"), place)


def import_root(
    file: str, text: str, root: str, imported: Collection[str], files: Collection[str]
) -> str | None:
    """Return the nearest folder from which an import of the program's own finds its file.

    None where no import tells: then the program may be started as a file.
    """
    if _RELATIVE.search(text):
        return dirname(dirname(file))
    modules = {step for path in files if path.endswith(".py") for step in _importable(path)}
    for folder in folders_above(file):
        if any(
            join(root, folder, *name.split(".")) in modules for name in imported if name[:1] != "."
        ):
            return folder
    return None


def _importable(path: str) -> Iterator[str]:
    """What an import may name of a file: itself, and each folder around it."""
    yield splitext(path)[0]
    yield from filter(None, folders_above(path))
