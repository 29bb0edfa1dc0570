"""Refuses Agents, checks and playgrounds that would get Git LFS pointers in place of content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.own_checks import own_checks
from gateval.domain.planning.closure import closure_of, closure_paths
from gateval.domain.planning.files.check_files import check_closure
from gateval.domain.planning.files.grounds import ground_closures
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Place, Problem
from gateval.ports.repository import Repository

_AGENTS = (
    "Agents start from git objects and would find the pointer, not the file: store it in git, or "
    "leave it out with watch."
)
_CHECKS = (
    "Checks run on git objects and would find the pointer, not the file: store it in git, or "
    "outside the check's folder."
)
_GROUNDS = (
    "A playground is made of git objects and would hold the pointer, not the file: store it in git."
)


def pointer_problems(
    repository: Repository, agents: Iterable[Agent], snapshot: Snapshot
) -> tuple[Problem, ...]:
    """Return a problem for each Git LFS pointer among the files of each Agent that starts a
    process, of each own check and of each playground of the snapshot.

    Git is asked once, whatever their number.
    """
    depends = [
        (agent.place, sorted(closure_paths(closure_of(agent, snapshot), snapshot)), _AGENTS)
        for agent in agents
        if agent.starts_process
    ]
    depends += [(place, paths, _CHECKS) for place, paths in _checks(snapshot)]
    depends += [
        (fixture.place, sorted(closure_paths(closure, snapshot)), _GROUNDS)
        for fixture, closure in ground_closures(snapshot)
    ]
    asked = dict.fromkeys(path for _, paths, _ in depends for path in paths)
    pointers = frozenset(repository.lfs_pointers(snapshot.revision, asked) if asked else ())
    found = (
        Problem(place=place, message=f"{show_path(path)} is a Git LFS pointer. {why}")
        for place, paths, why in depends
        for path in paths
        if path in pointers
    )
    return tuple(dict.fromkeys(found))


def _checks(snapshot: Snapshot) -> Iterator[tuple[Place, list[str]]]:
    """Yield the files of own checks, those of many cases with the same check once."""
    seen: set[str] = set()
    for fixture in snapshot.catalogue.fixtures:
        for spec in own_checks(fixture):
            if spec.own is not None and spec.own.digest not in seen:
                seen.add(spec.own.digest)
                closure = check_closure(spec, fixture.folder, snapshot)
                yield spec.place, sorted(closure_paths(closure, snapshot))
