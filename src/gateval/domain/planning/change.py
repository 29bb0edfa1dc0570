"""Which Agents changed between two revisions, and why each counts as changed.

Meaning is compared, not bytes: comments, key order, formatting and the manifest's own path do not
matter; a key of `spec`, the text of a prompt file and any file of the closure do.

A pull request that copies an Agent's code, moves only the manifest to the copy and spoils the
original changes nothing that is measured; the original may run in production. So moving away is a
change.

A sealed file names only what lies beside or below it, so a change of something else, in which no
Agent, manifest or script differs, does not concern it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from gateval.domain.base import JsonObject, digest
from gateval.domain.manifests.agent import Agent, SystemFile
from gateval.domain.manifests.catalogue import Catalogue, scripted_names
from gateval.domain.manifests.evaluation import SCRIPTED_FOLDER, Eval
from gateval.domain.paths import resolve_path, show_path
from gateval.domain.plan.plan import AgentChange, ChangeKind
from gateval.domain.plan.planned_eval import Reason
from gateval.domain.planning.closure import (
    Closure,
    beside_locked,
    closure_files,
    closure_of,
    closure_paths,
    working_directory,
)
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.text import excerpts, listing, same
from gateval.domain.tree import TreeEntry, changed_paths, under

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
    if head.once("keeps", base, lambda: base.tree.keys() <= head.tree.keys()):
        return
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
    changed = sorted(changed_paths(head.tree, base.tree))
    changes = []
    for name in sorted(ours.keys() | theirs.keys()):
        # Of several by one name at the base, one that differs is enough.
        for before in theirs.get(name, [None]):
            change = _agent_change(ours.get(name), before, head, base, changed)
            if change is not None:
                changes.append(change)
                break
    return tuple(changes)


def untargeted(head: Snapshot, base: Snapshot) -> tuple[str, ...]:
    """Return, by name, the agents of other tools' files that changed and that no Eval targets."""
    if head.catalogue is base.catalogue:
        return ()
    known = {agent.name for agent in (*head.catalogue.agents, *base.catalogue.agents)}
    theirs = {agent.name: agent for agent in base.catalogue.found}
    changed = sorted(changed_paths(head.tree, base.tree))
    return tuple(
        agent.name
        for agent in sorted(head.catalogue.found, key=lambda one: one.name)
        if agent.name not in known
        and _agent_change(agent, theirs.get(agent.name), head, base, changed) is not None
    )


def _agent_change(
    ours: Agent | None,
    theirs: Agent | None,
    head: Snapshot,
    base: Snapshot,
    changed: Sequence[str],
) -> AgentChange | None:
    if ours is None or theirs is None:
        agent = ours or theirs
        assert agent is not None  # noqa: S101 - one of the two maps held the name
        kind = ChangeKind.NEW if ours else ChangeKind.DELETED
        reason = Reason(where=f"{agent.place.file}:{agent.place.line}", what=f"{kind} Agent")
        return AgentChange(agent=agent.name, kind=kind, reasons=(reason,))
    left = tuple(departures(ours, theirs, head, base))
    told = {reason.where for reason in left}
    files = [one.reason for one in changed_files(ours, theirs, head, base, changed)]
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


def meaning_digest(agent: Agent, snapshot: Snapshot, known: JsonObject | None = None) -> str:
    """Return the digest of that, made once; `known` is the meaning, if it is at hand."""
    return snapshot.once("meaning", agent, lambda: digest(known or meaning(agent, snapshot)))


def _spec_reasons(ours: Agent, theirs: Agent, head: Snapshot, base: Snapshot) -> Iterator[Reason]:
    new, old = meaning(ours, head), meaning(theirs, base)
    if meaning_digest(ours, head, new) == meaning_digest(theirs, base, old):
        return
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


class ChangedFile(NamedTuple):
    """A file that makes an Agent count as changed: its paths on head and base, None where it is no
    file of this Agent, and the reason that names it.
    """

    head: str | None
    base: str | None
    reason: Reason


def changed_files(
    ours: Agent, theirs: Agent, head: Snapshot, base: Snapshot, changed: Sequence[str]
) -> Iterator[ChangedFile]:
    """Yield the files that differ between both closures, by path as seen from the Agent's folder.

    They are listed only if one of the sorted paths that are `changed` may be among them. A prompt's
    file is not: its text is part of what the manifest means.
    """
    new_closure, old_closure = closure_of(ours, head), closure_of(theirs, base)
    differing = (path for one in (new_closure, old_closure) for path in one.among(changed))
    if new_closure.same_paths(old_closure) and next(differing, None) is None:
        return
    new, old = closure_files(new_closure, head), closure_files(old_closure, base)
    prompt = ours.spec.system.file if isinstance(ours.spec.system, SystemFile) else None
    for path in sorted({path for path, _ in new.items() ^ old.items()}):
        there = resolve_path(ours.folder, path) if path in new else None
        before = resolve_path(theirs.folder, path) if path in old else None
        full = there if path in new else before
        if prompt is not None and full == resolve_path(ours.folder, prompt):
            continue
        what = "changed" if path in new and path in old else "added" if path in new else "removed"
        yield ChangedFile(there, before, Reason(where=show_path(full or path), what=what))


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


def locked_files(
    head: Snapshot, base: Snapshot, tip: Snapshot | None, changes: Sequence[AgentChange]
) -> tuple[str, ...]:
    """Return the locked files that may concern a change from `base` to `head`, as people see them.

    `changes` are its changed Agents. `tip` is the target branch, None where nothing of the
    change can matter to manifests.
    """
    every = head.locked | base.locked | (tip.locked if tip else frozenset())
    if not every or tip is None:
        return ()
    changed = changed_paths(head.tree, base.tree)
    known = head.manifest_paths | base.manifest_paths
    touches = any(path in known or under(path, {SCRIPTED_FOLDER}) for path in changed)
    moved = touches or beside_locked(changed, every) or bool(changes)
    return tuple(map(show_path, sorted(every))) if moved else ()


def locked_for(evals: Sequence[Eval], catalogue: Catalogue) -> tuple[str, ...]:
    """Return the locked files that may hold fixtures of these Evals, as people see them."""
    may = any(
        one.fixture_selector is not None
        or any(not (catalogue.fixture(f) or catalogue.family(f)) for f in one.fixtures)
        for one in evals
    )
    return tuple(map(show_path, sorted(catalogue.locked))) if may else ()


def why_locked(files: Sequence[str]) -> str:
    """Return the sentence about locked files; empty for none."""
    if not files:
        return ""
    verb, asks = ("is", "it asks") if len(files) == 1 else ("are", "they ask")
    return (
        f"{listing(files, 3)} {verb} sealed, and the key is not here, so what {asks} was "
        "not run. A run with GATEVAL_IDENTITY in its environment measures that: a maintainer's, or "
        "yours if you hold the key of one of policy.recipients."
    )
