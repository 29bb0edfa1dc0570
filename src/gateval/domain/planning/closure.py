"""An Agent's closure: every tracked file that its behaviour depends on.

With `watch`, the files it matches; without, for a runtime that starts a process, every tracked
file under `cwd` and what stands at the paths named in `setup` and `command`: a file, a folder, or
nothing any more. What a symbolic link in there points to belongs to it, and so does every link on
the way. The manifest itself counts by its meaning, and so do other manifests that happen to stand
in the same folder: they are no code, and no candidate gets them (`is_hidden`).
"""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gateval.domain.base import digest
from gateval.domain.manifests.agent import MODEL_RUNTIME, Agent
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.links import walk_links
from gateval.domain.repository.paths import resolve_path
from gateval.domain.repository.patterns import has_wildcard, match_any


@dataclass(frozen=True)
class Closure:
    """Tells which paths belong.

    `roots` are folders or files ("" is the whole repository), `patterns` those of `watch` that have
    wildcards, both from the repository root. `hidden` says what no candidate gets.
    """

    folder: str
    roots: frozenset[str]
    patterns: tuple[str, ...]
    hidden: Callable[[str], bool]

    @cached_property
    def watched(self) -> Callable[[str], bool]:
        """Whether a path matches one of the patterns."""
        return match_any(self.patterns)

    def covers(self, path: str) -> bool:
        """Whether a file at this path belongs to the closure, present or not."""
        if self.hidden(path):
            return False
        if _under(path, self.roots):
            return True
        return bool(self.patterns) and self.watched(path)

    def same_paths(self, other: Closure) -> bool:
        """Whether both would take the same paths, seen from the same folder."""
        ours = (self.folder, self.roots, self.patterns)
        return ours == (other.folder, other.roots, other.patterns)

    def relative(self, path: str) -> str:
        """The path as seen from the agent's folder: a folder that moves as a whole is no change."""
        return posixpath.relpath(path, self.folder or ".")


def working_directory(agent: Agent) -> str | None:
    """The candidate's working directory from the root, or None when it leaves the repository."""
    runtime = agent.spec.runtime
    return resolve_path(agent.folder, (runtime.cwd if runtime else None) or ".")


def closure_of(agent: Agent, snapshot: Snapshot) -> Closure:
    """Return the closure of an Agent in one revision."""
    roots: set[str] = set()
    patterns: set[str] = set()
    if agent.spec.watch is not None:
        for written in agent.spec.watch:
            resolved = resolve_path(agent.folder, written.removesuffix("/**"))
            if resolved is not None:
                (patterns if has_wildcard(resolved) else roots).add(resolved)
    elif agent.runtime_type != MODEL_RUNTIME:
        roots |= _process_roots(agent, snapshot)
    closure = Closure(agent.folder, frozenset(roots), tuple(sorted(patterns)), snapshot.is_hidden)
    return _follow_links(closure, snapshot.links)


def closure_paths(closure: Closure, snapshot: Snapshot) -> Iterable[str]:
    """Yield the tracked paths of the closure, each once, in no order."""
    found = {path for root in closure.roots for path in snapshot.below(root)}
    if closure.patterns:
        found |= {path for path in snapshot.tree if closure.watched(path)}
    return (path for path in found if closure.covers(path))


def closure_files(closure: Closure, snapshot: Snapshot) -> Mapping[str, str]:
    """Return the closure's files: path seen from the agent's folder → mode and object id."""
    tree = snapshot.tree
    return {
        closure.relative(path): f"{tree[path].mode} {tree[path].oid}"
        for path in closure_paths(closure, snapshot)
    }


def closure_digest(meaning: str, files: Mapping[str, str]) -> str:
    """Hash an Agent's meaning together with its closure's files."""
    return digest([meaning, *sorted(f"{path}\0{entry}" for path, entry in files.items())])


def _process_roots(agent: Agent, snapshot: Snapshot) -> set[str]:
    runtime = agent.spec.runtime
    cwd = working_directory(agent)
    if runtime is None or cwd is None:
        return set()
    words = (*runtime.setup, *runtime.command)
    return {cwd, *(path for word in words for path in _named(cwd, word, snapshot))}


def _named(cwd: str, word: str, snapshot: Snapshot) -> Iterator[str]:
    """Yield the paths that a word of a command line may name, also behind `--option=`.

    No folder around the working directory: that is where a program runs, not what it runs.
    """
    for text in (word, word.partition("=")[2]):
        path = resolve_path(cwd, text) if text else None
        if not path or _under(cwd, {path}):
            continue
        yield path
        _, end = walk_links(path, snapshot.links)
        passed, real = walk_links(f"{cwd}/{text}", snapshot.links)
        if real and real != end and real in snapshot.tree:  # `..` behind a link
            yield from passed
            yield real


def _follow_links(closure: Closure, links: Mapping[str, str]) -> Closure:
    """Add where symbolic links lead that stand in the closure or on the way to a root.

    The links that are passed on the way belong to it, too: another target leads elsewhere.
    """
    if not links:
        return closure
    roots = set(closure.roots)
    passed: set[str] = set()
    names = sorted(links)
    todo = [*closure.roots, *(path for path in names if closure.covers(path))]
    followed = set()
    while todo:
        path = todo.pop()
        if path in followed or closure.hidden(path):
            continue
        followed.add(path)
        on_the_way, end = walk_links(path, links)
        passed.update(on_the_way)
        if on_the_way and end is not None and not _under(end, roots):
            roots.add(end)
            todo += _inside(end, names)
    return Closure(closure.folder, frozenset(roots | passed), closure.patterns, closure.hidden)


def _inside(folder: str, names: Sequence[str]) -> Sequence[str]:
    """Those of the sorted names that stand in the folder; "" is the root."""
    if not folder:
        return names
    return names[bisect_left(names, f"{folder}/") : bisect_left(names, f"{folder}0")]


def _under(path: str, roots: Collection[str]) -> bool:
    """Whether a path is one of the roots or lies below one."""
    return "" in roots or path in roots or any(folder in roots for folder in _folders(path))


def _folders(path: str) -> Iterator[str]:
    """Yield the folders around a path, but not the root."""
    return (path[:at] for at, char in enumerate(path) if char == "/")
