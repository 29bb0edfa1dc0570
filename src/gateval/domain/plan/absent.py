"""Why a candidate may have failed: it asks for a file that is tracked, and that it did not get.

Candidates get the files of their Agent and no others. Where the output of one that failed names a
module or a path that fits a tracked file elsewhere, the reason says so, and what to declare.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from gateval.domain.base import Value
from gateval.domain.paths import resolve_path, show_path
from gateval.domain.text import listing

_ABSENT = re.compile(
    r"no such file|not found|enoent|cannot find|can't find|can't open|cannot open|no module"
    r"|does not exist|doesn't exist|is missing|not exist|unable to (?:read|open|load|find)"
    r"|could not (?:read|open|load|find|resolve|locate)|unresolved"
    r"|failed to (?:read|open|load|find)"
    r"|\bno (?:[`'\"][^`'\"]{1,80}[`'\"]|[\w-]*\.[\w-]+|\w+file) (?:file )?found\b"
    r"|attempted relative import",
    re.IGNORECASE,
)
"""How programs say that something is not there; many look for it in all folders above."""

_PARENT = re.compile(r"attempted relative import (?:with no known parent|beyond top-level) package")
_WITHOUT_ENDING = re.compile(r"\b(?:Gemfile|Pipfile|Makefile|Dockerfile|Rakefile|Procfile)\b")

_MODULE = re.compile(r"No module named '?([A-Za-z_][\w.]{0,200})")
_QUOTED = re.compile(r"['\"`]([^'\"`\n]{1,300})['\"`]")
_WORD = re.compile(r"[^\s'\"`,;:()\[\]<>=]{2,300}")
_OPTION = re.compile(r"^(?:--?[A-Za-z][\w-]*?|@)(?=[./])")
_NODE_ENDS = ("", ".js", ".mjs", ".cjs", ".ts", ".json", "/index.js", "/index.mjs", "/index.ts")
_MISSED = "is in the repository but not among"
_NAMED = 8
"""Files and patterns that one sentence names."""

_CANDIDATES = 40
"""Names that are looked up for one failure: the text is the candidate's, and may be long."""


@dataclass(frozen=True)
class AbsentFile:
    """A tracked file that a program did not get, and the pattern that would give it."""

    path: str
    pattern: str


_EDITED = (
    "files in it were edited, and no commit holds that. Commit them in the submodule, or undo "
    "the edits, and check again."
)


class Lacking(Value):
    """A submodule that a change adds, moves or removes, and whose content is not here.

    `path` is as `show_path` gives it, `of` says whose it is, `where` on which side. `commit` is
    empty for one in the working tree with edits that no commit has.
    """

    path: str
    commit: str
    of: str
    where: str

    def __str__(self) -> str:
        why = _not_here(self.commit, self.where) if self.commit else _EDITED
        return f"{self.path}, a submodule among the files of {self.of}, cannot be measured: {why}"


def lacking_sentence(path: str, commit: str) -> str:
    """Say that the content of a submodule is not here, and what to do."""
    return f"{show_path(path)} is a submodule, and {_not_here(commit)}"


def _not_here(commit: str, where: str = "") -> str:
    at = f" ({where})" if where else ""
    return (
        f"its content at {commit[:7]}{at} is not in this checkout. The gate fetches none: check it "
        "out with `submodules: true` (`recursive` for those in others) and `fetch-depth: 0`, "
        "elsewhere with `git submodule update --init --recursive`."
    )


class Surroundings:
    """The tracked files of a revision: those that a program got, and those that it did not."""

    def __init__(self, given: Iterable[str], outside: Iterable[str]) -> None:
        self.given = frozenset(given)
        self.outside = frozenset(outside)
        self._by_name: dict[str, list[str]] = {}
        for path in self.outside:
            self._by_name.setdefault(path.rpartition("/")[2], []).append(path)

    def ending_in(self, tail: str) -> list[str]:
        """Those it did not get whose path is `tail`, or ends in a slash and `tail`."""
        named = self._by_name.get(tail.rpartition("/")[2], ())
        return [path for path in named if path == tail or path.endswith(f"/{tail}")]


def find_absent(lines: Sequence[str], cwd: str, around: Surroundings) -> AbsentFile | None:
    """Return the tracked file that a failed program most likely asked for, or None.

    `lines` is what it printed last, `cwd` where it worked, from the repository's root.
    """
    return next(absent_files(lines, cwd, around), None)


def absent_files(lines: Sequence[str], cwd: str, around: Surroundings) -> Iterator[AbsentFile]:
    """Yield the tracked files that a failed program may have asked for, the likeliest first."""
    texts = [line for line in lines if _ABSENT.search(line)]
    package = _parent_package(cwd, around) if any(map(_PARENT.search, texts)) else None
    if package is not None:
        yield package
    for name, ends in islice(_names(texts), _CANDIDATES):
        found = _fitting(name, ends, cwd, around)
        if found is not None:
            folder = found.rpartition("/")[0]
            yield AbsentFile(found, f"/{folder}/**" if folder else f"/{found}")


def _parent_package(cwd: str, around: Surroundings) -> AbsentFile | None:
    """Return what makes the folder above a package, if it is tracked and was not given."""
    path = resolve_path(cwd, "../__init__.py")
    if path is None or path not in around.outside:
        return None
    folder = path.rpartition("/")[0]
    return AbsentFile(path, f"/{folder}/**" if folder else f"/{path}")


def absent_sentence(agent: str, absent: AbsentFile, *, inputs: bool = False) -> str:
    """Say which file it is, and what to declare: `inputs` for those of a layer."""
    path = show_path(absent.path)
    if inputs:
        return (
            f"{path} {_MISSED} the inputs of this set-up; add `/{path}` to "
            "spec.runtime.setup.inputs."
        )
    return (
        f"{path} {_MISSED} the files of Agent {agent}; "
        f"add `{show_path(absent.pattern)}` to spec.include."
    )


def missed_sentence(absent: Iterable[AbsentFile]) -> str:
    """Say which files the runs without an answer on one side looked for, and how to give them."""
    found = sorted(absent, key=lambda one: one.path)
    paths = [show_path(one.path) for one in found]
    patterns = list(dict.fromkeys(f"`{show_path(one.pattern)}`" for one in found))
    noun, them = ("a file", "it") if len(found) == 1 else (f"{len(found):,} files", "them")
    return (
        f"runs without an answer seem to have looked for {noun} of the repository that the Agent "
        f"does not get: {listing(paths, _NAMED)}. This is a hint and decides nothing; if it needs "
        f"{them}, add {listing(patterns, _NAMED)} to spec.include."
    )


def is_explained(reason: str) -> bool:
    """Whether a reason says already which file was missed."""
    return _MISSED in reason


def plain_hint(agent: str, files: int) -> str:
    """What to look at where the output names nothing that fits."""
    noun = "file" if files == 1 else "files"
    return (
        f"A candidate of Agent {agent} gets its {files:,} {noun} and nothing else of the "
        f"repository: `gateval closure {agent}` lists them, spec.include adds to them."
    )


def _names(lines: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what may be the name of a file, each with the ends that may be missing."""
    for line in lines:
        for module in _MODULE.findall(line):
            path = module.strip(".").replace(".", "/")
            yield path, (".py", "/__init__.py")
            if "/" in path:
                yield path.partition("/")[0], (".py", "/__init__.py")
    for line in lines:
        yield from ((name, ("",)) for name in _WITHOUT_ENDING.findall(line))
        for name in dict.fromkeys((*_QUOTED.findall(line), *_WORD.findall(line))):
            plain = _OPTION.sub("", name).rstrip(".")
            if "/" in plain or "." in plain:
                yield plain, _NODE_ENDS


def _fitting(name: str, ends: tuple[str, ...], cwd: str, around: Surroundings) -> str | None:
    tail = re.sub(r"^(?:\.{0,2}/)+", "", name)
    if not tail:
        return None
    for end in ends:
        spots = [resolve_path(cwd, name + end), resolve_path("", name.lstrip("/") + end)]
        if any(spot in around.given for spot in spots):
            return None
        for spot in spots:
            if spot is not None and spot in around.outside:
                return spot
    for end in ends:
        fits = around.ending_in(tail + end)
        if fits:
            return min(fits, key=lambda path: (-len(os.path.commonpath([path, cwd])), path))
    return None
