"""Agents whose answers prove less than before: a script for a model, the gate for a program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gateval.domain.manifests.agent import MODEL_RUNTIME, Agent
from gateval.domain.plan.bar import Lowered
from gateval.domain.plan.plan import AgentChange, ChangeKind
from gateval.domain.planning.selection import script_name
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.place import Place


def weaker_agents(
    head: Snapshot, base: Snapshot, tip: Snapshot, changes: Iterable[AgentChange]
) -> Iterator[Lowered]:
    """Yield every Agent that is measured and that head runs on less than the merge-base did.

    A scripted model says what a file of the change says, and the gate's own loop runs no line of a
    program: neither tells how the Agent that is deployed would answer.
    """
    measured = {one.target_agent for side in (head, tip) for one in side.catalogue.evals}
    for change in changes:
        if change.kind is not ChangeKind.MODIFIED or change.agent not in measured:
            continue
        new, old = head.catalogue.agent(change.agent), base.catalogue.agent(change.agent)
        if new is not None and old is not None:
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


def _place(agent: Agent, *keys: str) -> Place:
    return next((agent.places[key] for key in keys if key in agent.places), agent.place)
