"""Files that an Agent no longer depends on, though they are still there or live on elsewhere.

A pull request that copies an Agent's code, moves only the manifest to the copy and spoils the
original changes nothing that is measured; the original may run in production. So moving away is a
change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gateval.domain.manifests.agent import Agent, SystemFile
from gateval.domain.plan.bar import Reason
from gateval.domain.planning.closure import Closure, closure_of, closure_paths
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.paths import resolve_path, show_path

TELLING_BYTES = 256
"""Files no larger than this are alike by chance: empty modules, stubs, licence headers."""


def prompt_path(agent: Agent) -> str | None:
    """The path of the Agent's prompt file, or None if it has none."""
    system = agent.spec.system
    return resolve_path(agent.folder, system.file) if isinstance(system, SystemFile) else None


def left_behind(ours: Agent, theirs: Agent, head: Snapshot, base: Snapshot) -> list[str]:
    """Return the files of the base's closure whose path is still taken on head, outside head's."""
    new, old = closure_of(ours, head), closure_of(theirs, base)
    if new.same_paths(old) and prompt_path(ours) == prompt_path(theirs):
        return []
    return sorted(path for path in _depended_on(theirs, old, base, new, ours) if head.below(path))


def departures(ours: Agent, theirs: Agent, head: Snapshot, base: Snapshot) -> Iterator[Reason]:
    """Yield a reason for each file that was left behind, or whose content left for another path."""
    for path in left_behind(ours, theirs, head, base):
        yield Reason(where=show_path(path), what="still there, but no longer a file of this Agent")
    for path, target in _moved(ours, theirs, head, base):
        if head.sizes.get(base.tree[path].oid, 0) > TELLING_BYTES:
            yield Reason(
                where=show_path(path),
                what=f"left for {show_path(target)}, which is no file of this Agent",
            )


def moved_contents(head: Snapshot, base: Snapshot) -> set[str]:
    """Return the object ids that may have left an Agent for another path: their sizes matter."""
    found: set[str] = set()
    for theirs in base.catalogue.agents:
        ours = head.catalogue.agent(theirs.name)
        if ours is not None:
            found |= {base.tree[path].oid for path, _ in _moved(ours, theirs, head, base)}
    return found


def _moved(ours: Agent, theirs: Agent, head: Snapshot, base: Snapshot) -> Iterator[tuple[str, str]]:
    """Files of the base's closure that are gone, with a new path of the same content outside."""
    new, old = closure_of(ours, head), closure_of(theirs, base)
    came: Mapping[str, str] | None = None
    for path in sorted(_depended_on(theirs, old, base, new, ours)):
        if head.below(path):
            continue
        if came is None:
            added = head.tree.keys() - base.tree.keys()
            kept = {prompt_path(ours)}
            came = {
                head.tree[one].oid: one
                for one in sorted(added, reverse=True)
                if one not in kept and not new.covers(one)
            }
        target = came.get(base.tree[path].oid)
        if target is not None:
            yield path, target


def _depended_on(
    theirs: Agent, old: Closure, base: Snapshot, new: Closure, ours: Agent
) -> set[str]:
    """The files that base's Agent depends on and head's does not."""
    prompt = prompt_path(theirs)
    paths = {path for path in closure_paths(old, base) if not new.covers(path)}
    if prompt in base.tree and prompt is not None and not new.covers(prompt):
        paths.add(prompt)
    return paths - {prompt_path(ours)}
