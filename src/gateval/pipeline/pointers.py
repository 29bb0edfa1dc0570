"""Refuses Agents, checks and playgrounds that would get Git LFS pointers in place of content.

What a change adds or moves there is measured with it, or not at all: an empty folder in its place
would be measured as something that nobody wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.own_checks import own_checks
from gateval.domain.paths import Problem, SourceLocation, show_path
from gateval.domain.plan.absent import Lacking
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.planning.closure import Closure, closure_of, closure_paths
from gateval.domain.planning.files.fixture_files import (
    check_closure,
    ground_closure,
    ground_closures,
)
from gateval.domain.planning.snapshot import Snapshot
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


def _checks(snapshot: Snapshot) -> Iterator[tuple[SourceLocation, list[str]]]:
    """Yield the files of own checks, those of many cases with the same check once."""
    seen: set[str] = set()
    for fixture in snapshot.catalogue.fixtures:
        for spec in own_checks(fixture):
            if spec.own is not None and spec.own.digest not in seen:
                seen.add(spec.own.digest)
                closure = check_closure(spec, fixture.folder, snapshot)
                yield spec.place, sorted(closure_paths(closure, snapshot))


Empty = Mapping[str, str]
"""The submodules of a revision whose content is not here: path → commit."""


def without_lacking(
    repository: Repository, plan: Plan, head: Snapshot, base: Snapshot | None
) -> Plan:
    """Return the plan without the Evals for which the content of a changed submodule is not here,
    and with what keeps it from passing.
    """
    sides = [("head", head), *([("base", base)] if base is not None else [])]
    if not any(snapshot.submodules for _, snapshot in sides):
        return plan
    empty = {name: _empty(repository, snapshot) for name, snapshot in sides}
    edited = _edited(repository, plan, head)
    found: dict[Lacking, None] = dict.fromkeys(edited)
    warnings: dict[str, None] = {}
    kept: list[PlannedEval] = []
    for planned in plan.evals:
        lacking = [one for one in edited if one.of == f"Agent {planned.agent}"]
        for where, snapshot in sides:
            other = empty["base" if where == "head" else "head"] if base is not None else None
            for of, closure in _closures(planned, snapshot):
                for path, commit in empty[where].items():
                    if not closure.covers(path):
                        continue
                    if other is None or other.get(path) == commit:
                        warnings[_empty_folder(of, path)] = None
                    else:
                        shown = show_path(path)
                        lacking.append(Lacking(path=shown, commit=commit, of=of, where=where))
        found |= dict.fromkeys(lacking)
        kept += [] if lacking else [planned]
    return _with(plan, kept, tuple(found), tuple(warnings))


def _edited(repository: Repository, plan: Plan, head: Snapshot) -> tuple[Lacking, ...]:
    """Return the submodules with edits that no commit has: a snapshot of the working tree holds
    none of those. Also of Agents of which nothing else changed.
    """
    paths = repository.edited_submodules() if head.revision.worktree else ()
    if not paths:
        return ()
    measured = {one.target_agent for one in head.catalogue.evals}
    if plan.nothing and not measured:  # then only the Agents of head were read
        measured = {agent.name for agent in head.catalogue.agents}
    return tuple(
        Lacking(path=show_path(path), commit="", of=f"Agent {agent.name}", where="head")
        for agent in head.catalogue.agents
        if agent.name in measured and agent.starts_process
        for path in paths
        if closure_of(agent, head).covers(path)
    )


def _with(
    plan: Plan, kept: Sequence[PlannedEval], found: tuple[Lacking, ...], warnings: tuple[str, ...]
) -> Plan:
    told = plan.model_copy(update={"warnings": (*warnings, *plan.warnings), "lacking": found})
    if len(kept) == len(plan.evals):
        return told
    agents = {planned.agent for planned in kept}
    return told.model_copy(
        update={
            "evals": tuple(kept),
            "agents": tuple(one for one in plan.agents if one.name in agents),
            "nothing": "" if kept else "Nothing can be measured here.",
        }
    )


def _empty(repository: Repository, snapshot: Snapshot) -> Empty:
    if not snapshot.submodules:
        return {}
    contents = repository.contents(snapshot.revision)
    return {path: entry.oid for path, entry in contents.items() if entry.is_submodule}


def _closures(planned: PlannedEval, snapshot: Snapshot) -> Iterator[tuple[str, Closure]]:
    """Yield what an Eval starts from in a revision: its Agent's files, checks' and playgrounds'."""
    agent = snapshot.catalogue.agent(planned.agent)
    if agent is not None and agent.starts_process:
        yield f"Agent {agent.name}", closure_of(agent, snapshot)
    for fixture in planned.own_fixtures:
        if fixture.playground is not None:
            ground = ground_closure(fixture.playground, fixture.folder, snapshot)
            yield "a playground", ground
        for spec in own_checks(fixture):
            yield "a check", check_closure(spec, fixture.folder, snapshot)


def _empty_folder(of: str, path: str) -> str:
    return (
        f"{of} depends on the submodule {show_path(path)}, whose content is not in this checkout; "
        "there is an empty folder in its place."
    )
