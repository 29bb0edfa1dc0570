"""How a program is started: as a file, as a module, or by a server, and where it finds its own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from posixpath import basename, dirname, join, relpath, splitext
from typing import NamedTuple

from gateval.domain.setup.programs.asking import is_flask, server_of
from gateval.domain.setup.programs.golang import BUILT

_RELATIVE = re.compile(r"^from[ \t]+\.", re.M)


class StartCommand(NamedTuple):
    """A command relative to the program's root, and the folder there that `PYTHONPATH` needs."""

    command: tuple[str, ...]
    modules_in: str = ""


def start_of(
    path: str,
    text: str,
    root: str,
    imported: Collection[str],
    files: Collection[str],
    *,
    set_up: bool,
) -> StartCommand:
    """Return how the program at `path` is started from its `root`.

    `imported` are the modules, `a.b` and the like, that it and the files below its folder import,
    `files` all tracked paths. `set_up` says that a set-up installs what it needs.
    """
    if path.endswith(".go"):
        return StartCommand((BUILT,))
    file = relpath(path, root or ".")
    if path.endswith(".py"):
        return _python(file, text, _base(file, text, root, imported, files), set_up=set_up)
    if path.endswith((".ts", ".mts", ".tsx")):
        # As a loader tsx needs no socket, whose path in a private TMPDIR may be too long.
        return StartCommand(("node", "--import", "tsx", file) if set_up else ("tsx", file))
    return StartCommand(("node", file))


def _python(file: str, text: str, base: str | None, *, set_up: bool) -> StartCommand:
    python = ".venv/bin/python" if set_up else "python3"
    application = server_of(file, text)
    is_main = basename(file) == "__main__.py" and dirname(file)
    if not application and not is_main and base in {None, dirname(file)}:
        return StartCommand((python, file))
    place = base if base is not None else "src" if file.startswith("src/") else ""
    module = splitext(relpath(file, place or "."))[0].replace("/", ".").removesuffix(".__main__")
    if not application:
        return StartCommand((python, "-m", module), place)
    served = f"{module}:{application}"
    if is_flask(text):
        return StartCommand(
            (python, "-m", "flask", "--app", served, "run", "--port", "{port}"), place
        )
    return StartCommand((python, "-m", "uvicorn", served, "--port", "{port}"), place)


def _base(
    file: str, text: str, root: str, imported: Collection[str], files: Collection[str]
) -> str | None:
    """Return the nearest folder from which an import of the program's own finds its file.

    None where no import tells: then the program may be started as a file.
    """
    if _RELATIVE.search(text):
        return dirname(dirname(file))
    modules = {step for path in files if path.endswith(".py") for step in _importable(path)}
    for folder in _above(dirname(file)):
        if any(
            join(root, folder, *name.split(".")) in modules for name in imported if name[:1] != "."
        ):
            return folder
    return None


def _importable(path: str) -> Iterator[str]:
    """What an import may name of a file: itself, and each folder around it."""
    yield splitext(path)[0]
    yield from filter(None, _above(dirname(path)))


def _above(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = dirname(folder)
    yield ""
