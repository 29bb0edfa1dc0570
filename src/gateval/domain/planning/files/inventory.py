"""An Agent's closure as a list for people: each file, what it is, and why it belongs."""

from __future__ import annotations

from typing import Literal, NamedTuple

from gateval.domain.manifests.agent import Agent
from gateval.domain.planning.closure import closure_of, closure_paths, working_directory
from gateval.domain.planning.files.departures import prompt_path
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.tree import TreeEntry

Kind = Literal["file", "link", "submodule"]


class Listed(NamedTuple):
    """One file of a closure. `shown` is its path as `show_path` gives it."""

    shown: str
    kind: Kind
    oid: str
    why: str


class Inventory(NamedTuple):
    """The closure of one Agent; `cwd` is where it works, "" for the repository's root."""

    agent: str
    cwd: str
    files: tuple[Listed, ...]


def inventory(agent: Agent, snapshot: Snapshot) -> Inventory:
    """Return everything that an Agent's behaviour depends on beside its manifest, by path.

    The prompt file of an Agent that starts no program is among it, though no candidate opens it.
    """
    closure = closure_of(agent, snapshot)
    why = {path: closure.why(path) for path in closure_paths(closure, snapshot)}
    prompt = prompt_path(agent)
    if prompt is not None and prompt in snapshot.tree:
        why.setdefault(prompt, "system.file")
    files = (
        Listed(show_path(path), _kind(snapshot.tree[path]), snapshot.tree[path].oid, why[path])
        for path in sorted(why)
    )
    return Inventory(agent.name, show_path(working_directory(agent) or ""), tuple(files))


def _kind(entry: TreeEntry) -> Kind:
    if entry.is_submodule:
        return "submodule"
    return "link" if entry.is_symlink else "file"
