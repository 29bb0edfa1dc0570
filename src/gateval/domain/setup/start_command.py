"""The command that starts a program, and the folder from which Python imports its modules. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from posixpath import basename, dirname, join, relpath, splitext
from typing import NamedTuple

from gateval.domain.setup.answering import has_guard
from gateval.domain.setup.dev_servers import dev_server
from gateval.domain.setup.import_graph import folders_above, python_modules
from gateval.domain.setup.nest import is_nest, nest_start
from gateval.domain.setup.program import BUILT, SetUp, exports_fetch

_FETCHED = (
    "const http = require('node:http'), stream = require('node:stream'); "
    "const body = (q) => q.method === 'GET' ? [] : [['body', stream.Readable.toWeb(q)]]; "
    "const asked = (q) => new Request('http://localhost' + q.url, Object.fromEntries([['method', "
    "q.method], ['headers', q.headers], ['duplex', 'half'], ...body(q)])); const told = (r, s) => "
    "(r.headers.forEach((v, k) => s.setHeader(k, v)), s.statusCode = r.status, r.body ? "
    "stream.Readable.fromWeb(r.body).pipe(s) : s.end()); import(FILE).then((m) => "
    "m.default.default || m.default).then((app) => http.createServer(async (q, s) => "
    "told(await app.fetch(asked(q), process.env), s)).listen(process.env.PORT));"
)
"""Serves what has a `fetch`, as Bun and platforms do, with the environment for its bindings. It
has no braces, which a manifest would fill in.
"""

_OF_BUN = re.compile(r"^(?:[^\n/*]*[\s=(])?Bun\.serve(?:<\w+>)?\(", re.M)
_RELATIVE = re.compile(r"^[ \t]*from[ \t]+\.", re.M)


class StartCommand(NamedTuple):
    """A command relative to the program's root, and the folders there that `PYTHONPATH` needs,
    `a:b`.
    """

    command: tuple[str, ...]
    modules_in: str = ""


def start_of(
    path: str,
    text: str,
    root: str,
    imported: Collection[str],
    files: Collection[str],
    *,
    setup: SetUp | None,
    function: str = "",
    application: str = "",
    flask: bool = False,
) -> StartCommand:
    """Return how the program at `path` is started from its `root`.

    `text` is its own, `imported` the modules, `a.b` and the like, that it and the files below its
    folder import, `files` all tracked paths. `setup` installs what it needs, `function` is the one
    that its project file names, `application` what it serves, which may be one of `flask`.
    """
    if path.endswith(".go"):
        return StartCommand((BUILT,))
    file = relpath(path, root or ".")
    if path.endswith(".py"):
        base = import_root(file, text, root, imported, files)
        python = "python3" if setup is None else ".venv/bin/python"
        return _of_python(file, text, base, python, function, application, flask=flask)
    if (setup is not None and setup.run[0] == "bun") or _OF_BUN.search(text):
        return StartCommand(("bun", file))
    return StartCommand(_of_node(path, text, root, imported, files, locked=setup is not None))


def _of_python(
    file: str,
    text: str,
    base: str | None,
    python: str,
    function: str,
    application: str,
    *,
    flask: bool,
) -> StartCommand:
    """Return how a file of Python is started whose imports are found from `base`, if one tells."""
    is_main = basename(file) == "__main__.py" and dirname(file)
    called = function if not (application or is_main or has_guard(text)) else ""
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
    if flask:
        return StartCommand(
            (python, "-m", "flask", "--app", served, "run", "--port", "{port}"), place
        )
    factory = ("--factory",) if application.endswith("()") else ()
    served = served.removesuffix("()")
    return StartCommand((python, "-m", "uvicorn", served, *factory, "--port", "{port}"), place)


def with_src(
    place: str, path: str, root: str, imported: Iterable[str], files: Collection[str]
) -> str:
    """Return the folder from which the program at `path` imports, with `src` by a `:` where a
    package that it and what it imports name lies there alone: a set-up leaves the project out.
    """
    file = relpath(path, root or ".")
    known = {step for one in files if one.endswith(".py") for step in _importable(one)}
    tops = {name.split(".")[0] for name in imported} - {""}
    here = {place, dirname(file)}
    lacking = (one for one in tops if not any(join(root, each, one) in known for each in here))
    if place != "src" and any(join(root, "src", one) in known for one in lacking):
        return f"{place}:src" if place else "src"
    return place


def _of_node(
    path: str,
    text: str,
    root: str,
    imported: Collection[str],
    files: Collection[str],
    *,
    locked: bool,
) -> tuple[str, ...]:
    file, typed = relpath(path, root or "."), path.endswith((".ts", ".mts", ".tsx"))
    if served := dev_server(path, file, text):
        return served
    if exports_fetch(text):
        loader = ("--import", "tsx") if typed else ()
        fetched = ("node", *loader, "-e", _FETCHED.replace("FILE", json.dumps(f"./{file}")))
        return ("bun", file) if "hono/bun" in imported else fetched
    if is_nest(text) and typed:
        known = {*files, "tsconfig.json"}
        own = next(one for one in folders_above(path) if join(one, "tsconfig.json") in known)
        told = ("env", f"TS_NODE_PROJECT={relpath(join(own, 'tsconfig.json'), root or '.')}")
        return (*(told if own not in {root, ""} else ()), *nest_start(file))
    if typed:
        # As a loader tsx needs no socket, whose path in a private TMPDIR may be too long.
        return ("node", "--import", "tsx", file) if locked else ("tsx", file)
    return ("node", file)


def import_root(
    file: str, text: str, root: str, imported: Collection[str], files: Collection[str]
) -> str | None:
    """Return the nearest folder from which an import of the program's own finds its file.

    None where no import tells: then the program may be started as a file.
    """
    if _RELATIVE.search(text):
        return dirname(dirname(file))
    modules = {step for path in files if path.endswith(".py") for step in _importable(path)}
    for names in (python_modules(text), imported):  # its own say more than those around it
        for folder in folders_above(file):
            if any(
                join(root, folder, *name.split(".")) in modules for name in names if name[:1] != "."
            ):
                return folder
    return None


def _importable(path: str) -> Iterator[str]:
    """What an import may name of a file: itself, and each folder around it."""
    yield splitext(path)[0]
    yield from filter(None, folders_above(path))
