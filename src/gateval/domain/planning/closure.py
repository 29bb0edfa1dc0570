"""An Agent's closure: every tracked file that its behaviour depends on, and all its candidate gets.

With `watch`, the files it matches; without, for a runtime that starts a process, every tracked
file under `cwd` and what stands at the paths named in `setup` and `command`: a file, a folder, or
nothing any more. `include`, the inputs of a layer and a program's prompt file come on top. What a
symbolic link in there points to belongs to it, and so does every link on the way. The manifest
itself counts by its meaning, and so do other manifests that happen to stand in the same folder:
they are no code, and no candidate gets them (`is_hidden`).

Only whole words are followed (`process_roots`). What else may be a path, in a line for a shell or
behind an option, is looked at so that people can be told (`literals`).
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from gateval.domain.base import digest
from gateval.domain.manifests.agent import MODEL_RUNTIME, Agent, RuntimeSpec, SystemFile
from gateval.domain.paths import (
    folder_of,
    has_wildcard,
    match_any,
    may_match_below,
    resolve_path,
    resolve_pattern,
    show_path,
)
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.tree import FileRules, below, file_rules, folders_of, under, walk_links


def follow_links(
    roots: Mapping[str, str],
    patterns: Mapping[str, str],
    snapshot: Snapshot,
    hidden: Callable[[str], bool] | None = None,
) -> dict[str, str]:
    """Return the roots, and the targets of symbolic links with the reason why each belongs.

    A link counts if it stands in a root, matches a pattern or lies on the way to a root; links on
    the way to its target count too. `hidden` says which paths do not count; by default those that
    no candidate gets.
    """
    found = _linked(roots, patterns, snapshot, hidden or snapshot.is_hidden)
    for path in snapshot.submodules:
        if not under(path, found.keys()):
            told = (why for root, why in found.items() if under(root, {path}))
            why = next(told, None) or next(
                (why for one, why in patterns.items() if may_match_below(one, path)), None
            )
            found |= {path: why} if why else {}
    return found


def _linked(
    roots: Mapping[str, str],
    patterns: Mapping[str, str],
    snapshot: Snapshot,
    is_hidden: Callable[[str], bool],
) -> dict[str, str]:
    links, found = snapshot.links, dict(roots)
    if not links:
        return found
    passed: dict[str, str] = {}
    names = sorted(links)
    watched = match_any(patterns)
    todo = [*roots, *(path for path in names if under(path, roots.keys()) or watched(path))]
    followed = set()
    while todo:
        path = todo.pop()
        if path in followed or is_hidden(path):
            continue
        followed.add(path)
        on_the_way, end = walk_links(path, links)
        passed |= {link: f"on the way to {show_path(path)}" for link in on_the_way}
        if on_the_way and end is not None and not under(end, found.keys()):
            found[end] = f"link {show_path(path)}"
            todo += below(names, end)
    return {**passed, **found}


_NO_FILE_FOLLOWS = frozenset({"-m", "-c", "-e", "--eval", "-p"})
_SCRIPT = re.compile(r"\.(?:py|js|mjs|cjs|ts|mts|tsx|sh|rb|pl|php|lua)$")

_ENV = re.compile(r"(?:/.*/)?env")
_SPLITS = re.compile(r"-[0iv]*S|--split-string")
_SPLIT = re.compile(r"-[0iv]*S(?=.)|--split-string=")
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")


def process_roots(runtime: RuntimeSpec, cwd: str, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield the working directory and the paths named in command lines, each with why."""
    yield cwd, "cwd"
    for key, words in runtime.own_commands():
        for word in words:
            for path in named(cwd, word, snapshot):
                yield path, f"{key} {word}"


def program_index(words: Sequence[str]) -> int | None:
    """Return which word of a command line names a program (`program_named`), None if none does."""
    found = program_named(words)
    return found[0] if found else None


def program_named(words: Sequence[str]) -> tuple[int, str] | None:
    """Return the program of a command line that a repository holds, and which word names it.

    It is the first with the ending of a script, unless it comes behind `-m` or `-c`; or the first
    word of all, if it is a path. `env -S` has it in a line of its own, with what stands behind.
    """
    for index, word in enumerate(words):
        if index == 0 and _ENV.fullmatch(word):
            continue
        line = _split_by_env(words, index)
        if line is not None:
            inner = program_named([*line, *words[index + 1 :]])
            return inner and (index + max(0, inner[0] - len(line) + 1), inner[1])
        if word in _NO_FILE_FOLLOWS or "{" in word or word.startswith("/"):
            return None
        if (index == 0 and "/" in word) or (_SCRIPT.search(word) and not word.startswith("-")):
            return index, word
    return None


def _split_by_env(words: Sequence[str], index: int) -> list[str] | None:
    """Return the words that `env` makes of one word, from the program on; None if it makes none."""
    if not _ENV.fullmatch(words[0]):
        return None
    attached = _SPLIT.match(words[index])
    if attached is None and not _SPLITS.fullmatch(words[index - 1]):
        return None
    try:
        line = shlex.split(words[index][attached.end() if attached else 0 :])
    except ValueError:
        return []
    while line and _VARIABLE.match(line[0]):
        del line[0]
    return line


def named(cwd: str, word: str, snapshot: Snapshot) -> Iterator[str]:
    """Yield the paths that a word of a command line may name, also behind `--option=`.

    No folder around the working directory: that is where a program runs, not what it runs.
    """
    for text in (word, word.partition("=")[2]):
        path = resolve_path(cwd, text) if text else None
        if not path or under(cwd, {path}):
            continue
        yield path
        _, end = walk_links(path, snapshot.links)
        passed, real = walk_links(f"{cwd}/{text}", snapshot.links)
        if real and real != end and real in snapshot.tree:  # `..` behind a link
            yield from passed
            yield real


_RUN = re.compile(r"[^\s'\"`;|&<>()=:,@#!\\]+")
_EXTRAS = re.compile(r"(?<=[^/])\[[\w,.-]*\]$")
"""What stands behind a folder that pip installs: `../lib[dev]`."""

_APART = re.compile(r"[=:;,@]")
_LEAD = re.compile(r"-{1,2}(?:[A-Za-z][\w-]*?(?=[./])|[A-Za-z](?=.))")
"""What stands before a path in one word with an option: `-r../x`, `--require../x`, `-Clib/x`."""

_HERE = re.compile(r"\$\(pwd\)|`pwd`|\$\{PWD\}|\$PWD\b")
_CHANGED = re.compile(r"(?:^|[\s;&|(])(?:cd|pushd)\s+[\"']?([^\s;&|)\"']+)")
_NO_LITERAL = re.compile(r"[{}$*?\0\n]|^[/~]")
_WORDS_IN_WORDS = 3
_LONGEST = 4096
"""Characters of a path that Linux opens (PATH_MAX)."""


def literals(text: str) -> Iterator[str]:
    """Yield what in a text of a command line may be a path relative to where it runs, each once.

    The text is a word, the value of a variable or a line for a shell. No paths are those from the
    machine's root, names without a slash or a dot, and what is known only when it runs.
    """
    found = (part for word in _words(_HERE.sub(".", text), 0) for part in _parts(word))
    yield from dict.fromkeys(filter(_may_be_path, found))


def changed_folders(line: str) -> Iterator[str]:
    """Yield the folders to which a line for a shell changes, as it names them."""
    found = _CHANGED.findall(_HERE.sub(".", line))
    yield from dict.fromkeys(filter(_may_be_path, found))


def _may_be_path(part: str) -> bool:
    return "." in part.replace("/", ".") and len(part) <= _LONGEST and not _NO_LITERAL.search(part)


def _words(text: str, depth: int) -> Iterator[str]:
    """Yield a text and the words in it, as a shell has them, and those of quoted words in turn."""
    yield text
    if depth == _WORDS_IN_WORDS or not re.search(r"\s", text.strip()):
        return
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    for word in words:
        if word != text:
            yield from _words(word, depth + 1)


def _parts(word: str) -> Iterator[str]:
    for part in (word, *_APART.split(word), *_RUN.findall(word)):
        yield part
        if "[" in part or "]" in part:
            yield _EXTRAS.sub("", part).removeprefix("[").removesuffix("]")
        if lead := _LEAD.match(part):
            yield part[lead.end() :]


@dataclass(frozen=True)
class Closure:
    """Tells which paths belong, and why.

    `roots` are folders or files ("" is the whole repository), `patterns` what has wildcards, both
    from the repository root and with the reason why they belong. `hidden` says what no candidate
    gets, `workdir` where it works; None where there is no telling. `apart` are the own files of
    checks and playgrounds, which are hidden too.
    """

    folder: str
    roots: Mapping[str, str]
    patterns: Mapping[str, str]
    hidden: Callable[[str], bool]
    workdir: str | None = None
    apart: frozenset[str] = frozenset()

    @cached_property
    def watched(self) -> Callable[[str], bool]:
        """Whether a path matches one of the patterns."""
        return match_any(self.patterns)

    def covers(self, path: str) -> bool:
        """Whether a file at this path belongs to the closure, present or not."""
        if self.hidden(path):
            return False
        if under(path, self.roots.keys()):
            return True
        return bool(self.patterns) and self.watched(path)

    def among(self, paths: Sequence[str]) -> Iterator[str]:
        """Yield those of the sorted paths that belong, each once, in no order."""
        found = {path for root in self.roots for path in below(paths, root)}
        for pattern in self.patterns:
            found |= set(filter(match_any([pattern]), below(paths, folder_of(pattern))))
        return (path for path in found if not self.hidden(path))

    def why(self, path: str) -> str:
        """Why a covered path belongs: the nearest root around it, else a pattern."""
        for step in (path, *reversed(tuple(folders_of(path))), ""):
            if step in self.roots:
                return self.roots[step]
        return next(why for one, why in self.patterns.items() if match_any([one])(path))

    def same_paths(self, other: Closure) -> bool:
        """Whether both would take the same paths, seen from the same folder."""
        ours = (self.folder, self.roots.keys(), self.patterns.keys(), self.apart)
        return ours == (other.folder, other.roots.keys(), other.patterns.keys(), other.apart)

    def relative(self, path: str) -> str:
        """The path as seen from the agent's folder: a folder that moves as a whole is no change."""
        if self.folder and path.startswith(f"{self.folder}/"):  # as most are
            return path[len(self.folder) + 1 :]
        return posixpath.relpath(path, self.folder or ".")

    def rules(self) -> FileRules:
        """The same as a plan holds it, but for what is hidden."""
        return file_rules(self.roots.keys(), self.patterns.keys(), self.workdir)


def working_directory(agent: Agent) -> str | None:
    """The candidate's working directory from the root, or None when it leaves the repository."""
    runtime = agent.spec.runtime
    return resolve_path(agent.folder, runtime.own_cwd if runtime else ".")


def closure_of(agent: Agent, snapshot: Snapshot) -> Closure:
    """Return the closure of an Agent in one revision, made once: a plan looks at it many times."""
    kept = snapshot.once("closure", agent, lambda: _rules(agent, snapshot))
    hidden, apart = snapshot.is_hidden, snapshot.check_roots
    return Closure(agent.folder, kept.roots, kept.patterns, hidden, kept.workdir, apart)


class _Rules(NamedTuple):
    """What of a closure its snapshot keeps: the whole would keep the snapshot, in a circle."""

    roots: Mapping[str, str]
    patterns: Mapping[str, str]
    workdir: str | None


def _rules(agent: Agent, snapshot: Snapshot) -> _Rules:
    roots: dict[str, str] = {}
    patterns: dict[str, str] = {}

    def add(written: Iterable[str], folder: str, what: str) -> None:
        for one in written:
            path = resolve_pattern(folder, one)
            if path is not None:
                (patterns if has_wildcard(path) else roots).setdefault(path, f"{what} {one}")

    add(agent.spec.watch or (), agent.folder, "watch")
    add(agent.spec.include, agent.folder, "include")
    workdir = None
    if agent.spec.runtime is not None and agent.starts_process:
        cwd = working_directory(agent)
        layer = agent.spec.runtime.layer
        add(layer.inputs if layer else (), cwd or "", "setup.inputs")
        if isinstance(agent.spec.system, SystemFile) and agent.runtime_type != MODEL_RUNTIME:
            add([agent.spec.system.file], agent.folder, "system.file")
        if agent.spec.watch is None and cwd is not None:
            for path, why in process_roots(agent.spec.runtime, cwd, snapshot):
                roots.setdefault(path, why)
        passed, workdir = walk_links(cwd or "", snapshot.links)
        roots |= {link: "cwd leads over this link" for link in passed if link not in roots}
    return _Rules(follow_links(roots, patterns, snapshot), patterns, workdir)


def closure_paths(closure: Closure, snapshot: Snapshot) -> Iterator[str]:
    """Yield the tracked paths of the closure, each once, in no order."""
    return closure.among(snapshot.paths)


def closure_files(closure: Closure, snapshot: Snapshot) -> Mapping[str, str]:
    """Return the closure's files: path seen from the agent's folder → mode and object id, or
    meaning where that counts.
    """
    tree, meanings = snapshot.tree, snapshot.meanings
    return {
        closure.relative(path): f"{tree[path].mode} {meanings.get(path, tree[path].oid)}"
        for path in closure_paths(closure, snapshot)
    }


def closure_digest(meaning: str, files: Mapping[str, str]) -> str:
    """Hash an Agent's meaning together with its closure's files."""
    return digest([meaning, *sorted(f"{path}\0{entry}" for path, entry in files.items())])


def beside_locked(paths: Iterable[str], locked: Collection[str]) -> bool:
    """Whether one of these paths is a locked file, or lies where one may name it."""
    folders = {path.rpartition("/")[0] for path in locked}
    return bool(folders) and any(under(path, folders) for path in paths)
