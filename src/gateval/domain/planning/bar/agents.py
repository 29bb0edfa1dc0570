"""Agents whose answers prove less than before: less is run, or fewer files count.

A script stands for a model, the gate for a program; or a file's change is no longer measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gateval.domain.manifests.agent import MODEL_RUNTIME, Agent
from gateval.domain.manifests.scripted import script_name
from gateval.domain.plan.bar import Lowered
from gateval.domain.plan.plan import AgentChange, ChangeKind
from gateval.domain.planning.change import system_text
from gateval.domain.planning.closure import closure_of, closure_paths
from gateval.domain.planning.files.departures import prompt_path
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Place

NAMES_SHOWN = 5


def weaker_agents(
    head: Snapshot, base: Snapshot, tip: Snapshot, changes: Iterable[AgentChange]
) -> Iterator[Lowered]:
    """Yield every Agent that is measured and that head runs on less than the merge-base did.

    A scripted model says what a file of the change says, and the gate's own loop runs no line of a
    program: neither tells how the Agent that is deployed would answer.
    """
    for new, old in _modified(head, base, tip, changes):
        yield from _scripted(new, old)
        yield from _no_program(new, old)


def _scripted(new: Agent, old: Agent) -> Iterator[Lowered]:
    """Real model to scripted: the first one, or one more that may answer in its place."""
    was, now = _first(old), _first(new)
    if was is None or script_name(was) is not None:
        return
    before, after = old.asked_models, new.asked_models
    added = [name for name in after if script_name(name) is not None and name not in before]
    if added or (now is not None and script_name(now) is not None):
        yield Lowered(
            place=_place(new, "spec.models", "spec.uses"),
            what=f"real model of Agent {new.name} replaced by a scripted one",
            before=", ".join(before),
            after=", ".join(after),
        )


def _no_program(new: Agent, old: Agent) -> Iterator[Lowered]:
    if new.runtime_type == MODEL_RUNTIME and old.runtime_type != MODEL_RUNTIME:
        yield Lowered(
            place=_place(new, "spec.runtime"),
            what=f"Agent {new.name} is no longer run as the program that it was",
            before=old.runtime_type,
            after=new.runtime_type,
        )


def _first(agent: Agent) -> str | None:
    return next(iter(agent.spec.models), None)


def narrowed_closures(
    head: Snapshot, base: Snapshot, tip: Snapshot, changes: Iterable[AgentChange]
) -> Iterator[Lowered]:
    """Yield every Agent that is measured and no longer depends on files that are still there.

    This change is measured with all of them, but for those that it turns into manifests, which no
    candidate gets. A later one to such a file would not be, though the program that is started
    could read it.
    """
    for new, old in _modified(head, base, tip, changes):
        lost = _lost(new, old, head, base)
        if lost:
            names = ", ".join(map(show_path, lost[:NAMES_SHOWN]))
            more = f" and {len(lost) - NAMES_SHOWN:,} more" if len(lost) > NAMES_SHOWN else ""
            noun = "file" if len(lost) == 1 else "files"
            yield Lowered(
                place=_place(new, "spec.watch", "spec.runtime"),
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


def _modified(
    head: Snapshot, base: Snapshot, tip: Snapshot, changes: Iterable[AgentChange]
) -> Iterator[tuple[Agent, Agent]]:
    """Yield the measured Agents that the change modifies, each as it is on head and at the base."""
    measured = {one.target_agent for side in (head, tip) for one in side.catalogue.evals}
    for change in changes:
        if change.kind is ChangeKind.MODIFIED and change.agent in measured:
            new, old = head.catalogue.agent(change.agent), base.catalogue.agent(change.agent)
            if new is not None and old is not None:
                yield new, old


def _place(agent: Agent, *keys: str) -> Place:
    return next((agent.places[key] for key in keys if key in agent.places), agent.place)
