"""What a plan carries of each side: Agents that run, their scripts, the files that none gets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gateval.domain.base import digest
from gateval.domain.manifests.agent import Agent, RuntimeSpec
from gateval.domain.manifests.fixtures.embedding import embedding_scripts
from gateval.domain.manifests.scripted import ScriptedModel, script_name
from gateval.domain.plan.plan import AgentDefinition, HiddenFiles, SideScripts
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.planning.change import meaning, scripted_names, system_text
from gateval.domain.planning.closure import (
    closure_digest,
    closure_files,
    closure_of,
    working_directory,
)
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.trials.trial import Side


def definitions(
    planned: Iterable[PlannedEval], snapshot: Snapshot, side: Side
) -> tuple[AgentDefinition, ...]:
    """Return the Agents that the planned Evals ask on this side, by name."""
    names = sorted({one.agent for one in planned if side in one.sides})
    agents = (snapshot.catalogue.agent(name) for name in names)
    return tuple(define(agent, snapshot, side) for agent in agents if agent is not None)


def define(agent: Agent, snapshot: Snapshot, side: Side) -> AgentDefinition:
    """Resolve an Agent at one revision: its prompt's text, its folder, its closure's hash.

    Rules of scripted models that it asks are in the hash.
    """
    closure = closure_of(agent, snapshot)
    files = closure_files(closure, snapshot)
    scripts = (snapshot.scripts.get(name) for name in scripted_names(agent))
    rules = [script.digest for script in scripts if script]
    meant = digest(meaning(agent, snapshot))
    return AgentDefinition(
        name=agent.name,
        side=side,
        place=agent.place,
        models=agent.spec.models,
        uses=agent.spec.uses,
        system=system_text(agent, snapshot),
        tools=agent.spec.tools,
        runtime=agent.spec.runtime or RuntimeSpec(),
        folder=agent.folder,
        cwd=working_directory(agent) or "",
        closure=closure_digest(digest([meant, *rules]) if rules else meant, files),
        files=closure.rules(),
    )


def asked_scripts(
    planned: Sequence[PlannedEval],
    head: Snapshot,
    base: Snapshot | None,
    more: Sequence[ScriptedModel] = (),
) -> tuple[SideScripts, ...]:
    """Return the scripted models that are asked, by side; `more` are judges of the base tip."""
    judges = {name for one in planned if (name := script_name(one.judge.model))}
    judges |= {name for one in planned for name in embedding_scripts(one.fixtures)}
    scripts = []
    for side, snapshot in ((Side.HEAD, head), (Side.BASE, base)):
        if snapshot is None:
            continue
        names = set(judges) if side is Side.HEAD else set()
        for one in planned:
            agent = snapshot.catalogue.agent(one.agent) if side in one.sides else None
            names |= set(scripted_names(agent)) if agent else set()
        models = tuple(snapshot.scripts[name] for name in sorted(names) if name in snapshot.scripts)
        models += tuple(more) if side is Side.HEAD else ()
        if models:
            scripts.append(SideScripts(side=side, models=models))
    return tuple(scripts)


def hidden_files(
    planned: Iterable[PlannedEval], head: Snapshot, base: Snapshot | None
) -> tuple[HiddenFiles, ...]:
    """Return the hidden files of each side from which a program is started, as git has them."""
    found = []
    for side, snapshot in ((Side.HEAD, head), (Side.BASE, base)):
        if snapshot is None:
            continue
        agents = [snapshot.catalogue.agent(one.agent) for one in planned if side in one.sides]
        if all(agent is None or not agent.starts_process for agent in agents):
            continue
        paths = (path for path in snapshot.paths if snapshot.is_hidden(path) and _is_text(path))
        found.append(HiddenFiles(side=side, paths=tuple(paths)))
    return tuple(found)


def _is_text(path: str) -> bool:
    """Whether the path is UTF-8, as a plan can hold it. Manifests of other names are refused."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
