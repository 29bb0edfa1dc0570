"""Agents that depend on less than before: files whose change would no longer be measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gateval.domain.manifests.agent import Agent
from gateval.domain.plan.bar import Lowered
from gateval.domain.plan.plan import AgentChange, ChangeKind
from gateval.domain.planning.change import system_text
from gateval.domain.planning.closure import closure_of, closure_paths
from gateval.domain.planning.files.departures import prompt_path
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Place

NAMES_SHOWN = 5


def narrowed_closures(
    head: Snapshot, base: Snapshot, tip: Snapshot, changes: Iterable[AgentChange]
) -> Iterator[Lowered]:
    """Yield every Agent that is measured and no longer depends on files that are still there.

    This change is measured with all of them, but for those that it turns into manifests, which no
    candidate gets. A later one to such a file would not be, though the program that is started
    could read it.
    """
    measured = {one.target_agent for side in (head, tip) for one in side.catalogue.evals}
    for change in changes:
        if change.kind is not ChangeKind.MODIFIED or change.agent not in measured:
            continue
        new, old = head.catalogue.agent(change.agent), base.catalogue.agent(change.agent)
        if new is None or old is None:
            continue
        lost = _lost(new, old, head, base)
        if lost:
            names = ", ".join(map(show_path, lost[:NAMES_SHOWN]))
            more = f" and {len(lost) - NAMES_SHOWN:,} more" if len(lost) > NAMES_SHOWN else ""
            noun = "file" if len(lost) == 1 else "files"
            yield Lowered(
                place=_place(new),
                what=f"Agent {new.name} no longer depends on {len(lost):,} {noun}: {names}{more}",
            )


def _lost(new: Agent, old: Agent, head: Snapshot, base: Snapshot) -> list[str]:
    ours, theirs = closure_of(new, head), closure_of(old, base)
    lost = set(_lost_prompt(new, old, head, base))
    if not new.starts_process:
        return sorted(lost)
    if ours.same_paths(theirs) and head.manifest_paths <= base.manifest_paths:
        return sorted(lost)
    before = {
        path
        for path in closure_paths(theirs, head)
        if path in base.tree or not head.is_hidden(path)
    }
    return sorted((lost | before) - set(closure_paths(ours, head)) - {prompt_path(new)})


def _lost_prompt(new: Agent, old: Agent, head: Snapshot, base: Snapshot) -> Iterator[str]:
    """A prompt file that stays where it was while the manifest moves, or names a copy of it.

    Another prompt in another file is an edit like any other, and measured.
    """
    path = prompt_path(old)
    if path is None or path == prompt_path(new) or path not in head.tree:
        return
    if new.path != old.path or system_text(new, head) == system_text(old, base):
        yield path


def _place(agent: Agent) -> Place:
    for key in ("spec.watch", "spec.runtime"):
        if key in agent.places:
            return agent.places[key]
    return agent.place
