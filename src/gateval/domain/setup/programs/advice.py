"""What to write where a program failed because nothing had installed what it needs."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from posixpath import join

from gateval.domain.setup.programs.found import SetUp
from gateval.domain.setup.programs.installing import project_of
from gateval.domain.text.quoting import quote

GUIDE = "docs/guides/dependencies.md"

_PYTHON = re.compile(r"ModuleNotFoundError: No module named '([A-Za-z_][\w.]{0,100})'")
_NODE = re.compile(r"Cannot find (?:module|package) '([@\w][\w./@-]{0,100})'")
_COMMAND = re.compile(
    r"\b([A-Za-z][\w.+-]{0,60}): command not found|: \d+: ([A-Za-z][\w.+-]{0,60}): not found"
)
"""How Python, Node and shells say what they lack; a module of Node's that begins with a dot or a
slash is a file of the program's own."""


def set_up_advice(lines: Iterable[str], cwd: str, tracked: Container[str]) -> str:
    """Return what is missing and which `setup` installs it; empty if no line tells of that.

    `lines` is what the program printed, `cwd` where it worked, `tracked` all files of the revision.
    """
    for line in lines:
        if found := _PYTHON.search(line):
            return _sentence(f"The module {found[1].partition('.')[0]}", cwd, tracked, "x.py")
        if found := _NODE.search(line):
            return _sentence(f"The package {_package(found[1])}", cwd, tracked, "x.js")
        if found := _COMMAND.search(line):
            return _sentence(f"The command {found[1] or found[2]}", cwd, tracked, "x.py", "x.js")
    return ""


def passed_over_sentence(name: str, first: str, taken: str) -> str:
    """Say that users of their own cannot go to the program that is first on PATH."""
    instead = f"{taken} is taken" if taken else "they find none"
    return (
        f"Candidates have users of their own, which cannot go to {first}, the {quote(name)} that "
        f"is first on PATH, so {instead}, without what is installed there. Put it where every "
        "user can go (not below a closed home), or let `setup` install what the agent needs."
    )


_UNSEEN = re.compile(r"Permission denied: '(/[^'\n]{1,300})/pyvenv\.cfg'")
"""How Python says that it was started out of a virtual environment that it cannot see."""


def unseen_advice(lines: Iterable[str]) -> str:
    """Return how a virtual environment becomes visible; empty if no line tells of one."""
    found = next(filter(None, map(_UNSEEN.search, lines)), None)
    if found is None:
        return ""
    return (
        f"Candidates cannot see the virtual environment {quote(found[1])}: it lies in a home or "
        "among temporary files, and its `bin` is not on PATH. Put that on PATH where the gate is "
        "started, and all of it is visible; or let `setup` make one."
    )


_NO_METADATA = re.compile(r"PackageNotFoundError: No package metadata was found for (\S{1,100})")
"""How Python says that a project asks for its own version where only its files are."""


def project_advice(lines: Iterable[str]) -> str:
    """Return how a project itself is installed; empty if no line tells that it looked for that."""
    found = next(filter(None, map(_NO_METADATA.search, lines)), None)
    if found is None:
        return ""
    return (
        f"The package {found[1]} is not installed: a set-up that sees lock files alone installs "
        "what it depends on. Let `setup` install the project too (`uv pip install --no-deps .`), "
        "with its sources in `setup.inputs`."
    )


_READ_ONLY = re.compile(
    r"readonly database|unable to open database file|Read-only file system|EROFS|EACCES"
    r"|PermissionError: \[Errno 13\]|Permission denied",
    re.IGNORECASE,
)
"""How SQLite, the system, Node and Python say that a program may not write somewhere."""


def read_only_advice(lines: Iterable[str]) -> str:
    """Return where a program may write; empty if no line tells that it tried elsewhere."""
    if not any(_READ_ONLY.search(line) for line in lines):
        return ""
    return (
        "If it meant to write there: what an agent works in is read-only, and its own folders are "
        "TMPDIR and HOME, empty at first. Have it write there; what it changes (a database) is "
        "copied there first, or for each trial by `runtime.before`, into `{home}`."
    )


def _package(name: str) -> str:
    parts = name.split("/")
    return "/".join(parts[:2]) if name.startswith("@") else parts[0]


def _sentence(what: str, cwd: str, tracked: Container[str], *programs: str) -> str:
    for program in programs:
        folder, setup = project_of(join(cwd, program), tracked)
        if setup is not None:
            there = "" if folder == cwd else f"cwd: {folder or '.'}, "
            return (
                f"{what} is not installed, and the Agent has no `setup`: write `{there}"
                f"setup: {shown(setup)}` under spec.runtime."
            )
    return (
        f"{what} is not installed, and the Agent has no `setup`: write one under spec.runtime that "
        f"installs it ({GUIDE} has one for each tool)."
    )


def shown(setup: SetUp) -> str:
    """Return a set-up as YAML on one line."""
    lists = (f"{key}: [{', '.join(map(_word, words))}]" for key, words in setup._asdict().items())
    return f"{{{', '.join(lists)}}}"


def _word(word: str) -> str:
    return word if re.fullmatch(r"[\w./@=-]+", word) else f'"{word}"'
