"""Changed files that no Agent depends on: whatever they break, nothing measures it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gateval.domain.planning.closure import closure_of
from gateval.domain.planning.files.check_files import check_closures
from gateval.domain.planning.files.departures import prompt_path
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.patterns import match_any
from gateval.domain.repository.tree import changed_paths

Owned = Callable[[str], bool]


def homeless(head: Snapshot, base: Snapshot) -> Sequence[str]:
    """Return the changed paths that belong to no Agent and are no manifest, sorted."""
    changed = sorted(changed_paths(head.tree, base.tree))
    return _strays(changed, head, base, measured=False)


def unclaimed(patterns: Iterable[str], head: Snapshot, base: Snapshot) -> Sequence[str]:
    """Return the changed paths that match and belong to no Agent that an Eval measures."""
    matches = match_any(pattern.removeprefix("/") for pattern in patterns)
    changed = [path for path in sorted(changed_paths(head.tree, base.tree)) if matches(path)]
    if not changed:
        return []
    return _strays(changed, head, base, measured=True)


def _strays(
    paths: Sequence[str], head: Snapshot, base: Snapshot, *, measured: bool
) -> Sequence[str]:
    """Those that belong to nobody on head or, if they are gone there, at the base."""
    gone = [path for path in paths if path not in head.tree]
    ours = _owned(head, measured=measured)
    theirs = _owned(base, measured=measured) if gone else ours
    return [path for path in paths if not (ours if path in head.tree else theirs)(path)]


def _owned(snapshot: Snapshot, *, measured: bool = False) -> Owned:
    """Whether a path of this revision belongs to an Agent or a check, or the gate reads it."""
    targets = {evaluation.target_agent for evaluation in snapshot.catalogue.evals}
    agents = [one for one in snapshot.catalogue.agents if not measured or one.name in targets]
    closures = [closure_of(agent, snapshot) for agent in agents]
    closures += check_closures(snapshot)
    prompts = {prompt_path(agent) for agent in agents}
    return lambda path: (
        path in prompts
        or path in snapshot.manifest_paths
        or snapshot.is_hidden(path)
        or any(closure.covers(path) for closure in closures)
    )
