"""An Agent's closure: every tracked file that its behaviour depends on, and all its candidate gets.

With `watch`, the files it matches; without, for a runtime that starts a process, every tracked
file under `cwd` and what stands at the paths named in `setup` and `command`: a file, a folder, or
nothing any more. `include`, the inputs of a layer and a program's prompt file come on top. What a
symbolic link in there points to belongs to it, and so does every link on the way. The manifest
itself counts by its meaning, and so do other manifests that happen to stand in the same folder:
they are no code, and no candidate gets them (`is_hidden`).
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from gateval.domain.base import digest
from gateval.domain.manifests.agent import MODEL_RUNTIME, Agent, SystemFile
from gateval.domain.planning.files.links import follow_links
from gateval.domain.planning.files.named_paths import process_roots
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.file_rules import FileRules, file_rules
from gateval.domain.repository.links import walk_links
from gateval.domain.repository.paths import resolve_path, resolve_pattern
from gateval.domain.repository.patterns import folder_of, has_wildcard, match_any
from gateval.domain.repository.tree import folders_of, under


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
        return posixpath.relpath(path, self.folder or ".")

    def rules(self) -> FileRules:
        """The same as a plan holds it, but for what is hidden."""
        return file_rules(self.roots.keys(), self.patterns.keys(), self.workdir)


def working_directory(agent: Agent) -> str | None:
    """The candidate's working directory from the root, or None when it leaves the repository."""
    runtime = agent.spec.runtime
    return resolve_path(agent.folder, runtime.own_cwd if runtime else ".")


def closure_of(agent: Agent, snapshot: Snapshot) -> Closure:
    """Return the closure of an Agent in one revision."""
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
    found = follow_links(roots, patterns, snapshot)
    hidden, apart = snapshot.is_hidden, snapshot.check_roots
    return Closure(agent.folder, found, patterns, hidden, workdir, apart)


def closure_paths(closure: Closure, snapshot: Snapshot) -> Iterable[str]:
    """Yield the tracked paths of the closure, each once, in no order."""
    found = {path for root in closure.roots for path in snapshot.below(root)}
    for pattern in closure.patterns:
        found |= set(filter(match_any([pattern]), snapshot.below(folder_of(pattern))))
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
