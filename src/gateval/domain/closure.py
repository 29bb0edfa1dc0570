"""An Agent's closure: every tracked file that its behaviour depends on.

With `watch`, the files it matches; without, for a runtime that starts a process, every tracked
file under `cwd` and tracked paths named in `setup` and `command`. What a symbolic link in there
points to belongs to it. The manifest itself counts by its meaning, and so do other manifests that
happen to stand in the same folder: they are no code, and no candidate gets them (`is_hidden`).
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from gateval.domain.base import digest
from gateval.domain.manifests.agent import MODEL_RUNTIME, Agent
from gateval.domain.paths import resolve_path
from gateval.domain.patterns import has_wildcard, match_any
from gateval.domain.snapshot import Snapshot


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
        if any(_under(path, root) for root in self.roots):
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
    named = (resolve_path(cwd, word) for word in (*runtime.setup, *runtime.command))
    return {cwd, *(path for path in named if path and path in snapshot.tree)}


def _follow_links(closure: Closure, links: Mapping[str, str]) -> Closure:
    """Add what symbolic links inside the closure point to, until nothing new comes."""
    roots = set(closure.roots)
    while True:
        grown = Closure(closure.folder, frozenset(roots), closure.patterns, closure.hidden)
        found = set(_targets(grown, links)) - roots
        if not found:
            return grown
        roots |= found


def _targets(closure: Closure, links: Mapping[str, str]) -> Iterable[str]:
    for path, target in links.items():
        if closure.covers(path) and not target.startswith("/"):
            resolved = resolve_path(path.rpartition("/")[0], target)
            if resolved:
                yield resolved


def _under(path: str, root: str) -> bool:
    return not root or path == root or path.startswith(root + "/")
