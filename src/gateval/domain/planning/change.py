"""Which Agents changed between two revisions, and why each counts as changed.

Meaning is compared, not bytes: comments, key order, formatting and the manifest's own path do not
matter; a key of `spec`, the text of a prompt file and any file of the closure do.
"""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import Agent, SystemFile
from gateval.domain.manifests.scripted import script_name
from gateval.domain.plan.bar import Reason
from gateval.domain.plan.plan import AgentChange, ChangeKind
from gateval.domain.planning.closure import closure_files, closure_of
from gateval.domain.planning.files.departures import departures
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.paths import resolve_path, show_path
from gateval.domain.repository.tree import changed_paths
from gateval.domain.text.excerpts import excerpts, same


def detect_changes(head: Snapshot, base: Snapshot) -> tuple[AgentChange, ...]:
    """Return the changed Agents by name: new, modified or deleted, each with its reasons.

    Both sides share one catalogue when the read step saw that nothing relevant differs.
    """
    if head.catalogue is base.catalogue:
        return ()
    ours = {agent.name: agent for agent in head.catalogue.agents}
    theirs: dict[str, list[Agent]] = {}
    for agent in base.catalogue.agents:
        theirs.setdefault(agent.name, []).append(agent)
    changed = changed_paths(head.tree, base.tree)
    changes = []
    for name in sorted(ours.keys() | theirs.keys()):
        # Of several by one name at the base, one that differs is enough.
        for before in theirs.get(name, [None]):
            change = _agent_change(ours.get(name), before, head, base, changed)
            if change is not None:
                changes.append(change)
                break
    return tuple(changes)


def _agent_change(
    ours: Agent | None,
    theirs: Agent | None,
    head: Snapshot,
    base: Snapshot,
    changed: frozenset[str],
) -> AgentChange | None:
    if ours is None or theirs is None:
        agent = ours or theirs
        assert agent is not None  # noqa: S101 - one of the two maps held the name
        kind = ChangeKind.NEW if ours else ChangeKind.DELETED
        reason = Reason(where=f"{agent.place.file}:{agent.place.line}", what=f"{kind} Agent")
        return AgentChange(agent=agent.name, kind=kind, reasons=(reason,))
    left = tuple(departures(ours, theirs, head, base))
    told = {reason.where for reason in left}
    files = _file_reasons(ours, theirs, head, base, changed)
    reasons = (
        *_spec_reasons(ours, theirs, head, base),
        *_script_reasons(ours, theirs, head, base),
        *(reason for reason in files if reason.where not in told),
        *left,
    )
    if not reasons:
        return None
    return AgentChange(agent=ours.name, kind=ChangeKind.MODIFIED, reasons=reasons)


def system_text(agent: Agent, snapshot: Snapshot) -> str:
    """Return the text of the system prompt, inline or from its file; "" when there is none."""
    system = agent.spec.system
    if isinstance(system, SystemFile):
        path = resolve_path(agent.folder, system.file)
        return snapshot.prompts.get(path or "", "")
    return system or ""


def meaning(agent: Agent, snapshot: Snapshot) -> JsonObject:
    """Return what the manifest means: `spec` with defaults filled in and the prompt's text."""
    spec: JsonObject = agent.spec.model_dump(mode="json", by_alias=True)
    return {**spec, "system": system_text(agent, snapshot)}


def _spec_reasons(ours: Agent, theirs: Agent, head: Snapshot, base: Snapshot) -> Iterator[Reason]:
    new, old = meaning(ours, head), meaning(theirs, base)
    for key in sorted(new.keys() | old.keys()):
        if same(new.get(key), old.get(key)):
            continue
        before, after = excerpts(old.get(key), new.get(key))
        place = ours.places.get(f"spec.{key}", ours.place)
        where, what = f"{place.file}:{place.line}", f"spec.{key}"
        system = ours.spec.system
        if key == "system" and isinstance(system, SystemFile):
            path = resolve_path(ours.folder, system.file)
            where, what = show_path(path or system.file), "spec.system"
        yield Reason(where=where, what=what, before=before, after=after)


def _script_reasons(ours: Agent, theirs: Agent, head: Snapshot, base: Snapshot) -> Iterator[Reason]:
    for name in scripted_names(ours):
        new, old = head.scripts.get(name), base.scripts.get(name)
        if name in scripted_names(theirs) and new and old and new.digest != old.digest:
            yield Reason(where=show_path(new.path), what=f"scripted model {name}")


def scripted_names(agent: Agent) -> tuple[str, ...]:
    """Return the names of the scripted models that the Agent may ask."""
    return tuple(name for name in map(script_name, agent.asked_models) if name is not None)


def _file_reasons(
    ours: Agent, theirs: Agent, head: Snapshot, base: Snapshot, changed: frozenset[str]
) -> Iterator[Reason]:
    """Compare the files of both closures, but list them only if one of them may differ."""
    new_closure, old_closure = closure_of(ours, head), closure_of(theirs, base)
    if new_closure.same_paths(old_closure) and not any(
        new_closure.covers(path) or old_closure.covers(path) for path in changed
    ):
        return
    new, old = closure_files(new_closure, head), closure_files(old_closure, base)
    prompt = ours.spec.system.file if isinstance(ours.spec.system, SystemFile) else None
    for path in sorted({path for path, _ in new.items() ^ old.items()}):
        full = resolve_path((ours if path in new else theirs).folder, path)
        if prompt is not None and full == resolve_path(ours.folder, prompt):
            continue
        what = "changed" if path in new and path in old else "added" if path in new else "removed"
        yield Reason(where=show_path(full or path), what=what)
