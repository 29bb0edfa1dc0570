"""Refuses Agents that would start on Git LFS pointers: their candidates would get no content."""

from __future__ import annotations

from collections.abc import Iterable

from gateval.domain.manifests.agent import Agent
from gateval.domain.planning.closure import closure_of, closure_paths
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Problem
from gateval.ports.repository import Repository


def pointer_problems(
    repository: Repository, agents: Iterable[Agent], snapshot: Snapshot
) -> tuple[Problem, ...]:
    """Return a problem for each Git LFS pointer in the closure of each Agent that starts a process.

    Git is asked once, whatever the number of Agents.
    """
    depends = [
        (agent, sorted(closure_paths(closure_of(agent, snapshot), snapshot)))
        for agent in agents
        if agent.starts_process
    ]
    asked = dict.fromkeys(path for _, paths in depends for path in paths)
    pointers = frozenset(repository.lfs_pointers(snapshot.revision, asked) if asked else ())
    return tuple(
        Problem(
            place=agent.place,
            message=f"{show_path(path)} is a Git LFS pointer. Agents start from git objects "
            "and would find the pointer, not the file: store it in git, or leave it out with "
            "watch.",
        )
        for agent, paths in depends
        for path in paths
        if path in pointers
    )
