"""The first half of the way: from two revisions to a plan. Reads, starts nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import own_checks
from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH, BarPolicy
from gateval.domain.paths import show_path
from gateval.domain.plan.absent import Lacking
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.planning.change import why_locked
from gateval.domain.planning.closure import Closure, closure_of
from gateval.domain.planning.file_edits import LARGEST_FILE, edited_files, file_edits
from gateval.domain.planning.fixture_files import check_closure, ground_closure
from gateval.domain.planning.planner import plan_change, plan_revision, plan_without_rules
from gateval.domain.planning.selection import (
    ALL,
    EVERYTHING,
    Narrowing,
    Pick,
    narrow,
    picked,
    refuse_names,
    refuse_unknown,
)
from gateval.domain.planning.shares import with_quarantine
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.problems import InvalidManifests
from gateval.domain.tree import Revision
from gateval.errors import RepositoryError, StageFileError, UsageError
from gateval.formats.base import Registries
from gateval.pipeline.read import (
    ChangeRead,
    Revisions,
    pointer_problems,
    read_change,
    read_revision,
    read_rules,
    reading,
)
from gateval.ports.repository import Repository, SharedRules


@reading
def plan_a_change(
    repository: Repository,
    registries: Registries,
    revisions: Revisions,
    shared: SharedRules,
    config_path: str = GATE_CONFIG_PATH,
    narrowing: Narrowing = EVERYTHING,
    bar: BarPolicy | None = None,
    pick: Pick = ALL,
    today: str = "",
) -> Plan:
    """Read both sides of a change and plan what it calls for, as far as it is looked at.

    `bar` takes the place of the policy's; `pick` says which part of it a person wants; `today`
    (`2026-12-01`) decides about quarantine: without it there is none. Where
    `shared` cannot read what the rules extend, nothing is planned, and the plan says so. Raises
    `InvalidManifests`, and `UsageError` when there is no such gate config, Agent, Eval or fixture.
    """
    under = read_rules(repository, revisions.base_tip, shared, config_path)
    if under.rules.unread:
        return plan_without_rules(revisions.head, revisions.base, under.rules)
    change = read_change(
        repository,
        registries,
        under,
        head=revisions.head,
        base=revisions.base,
        base_tip=revisions.base_tip,
        config_path=config_path,
    )
    refuse_unknown(narrowing, change.head.catalogue)
    rules = change.rules
    if bar is not None:
        rules = replace(rules, policy=rules.policy.replace(bar=bar))
    whole = plan_change(change.head, change.base, rules, change.tip, landed=revisions.landed)
    whole = without_lacking(repository, whole, change.head, change.base)
    asked_of = change.head
    if whole.nothing and pick.names:  # then only the Agents of head were read
        asked_of = read_revision(repository, registries, revisions.head, under.config, config_path)
    plan = picked(narrow(whole, narrowing), pick, asked_of.catalogue)
    here = (change.head.catalogue, change.base.catalogue)
    plan = with_quarantine(plan, today, here) if today else plan
    return _finished(repository, _with_edits(repository, plan, change), change.head)


@reading
def plan_named_evals(
    repository: Repository,
    registries: Registries,
    revision: Revision,
    shared: SharedRules,
    *,
    evals: Sequence[str],
    fixtures: Sequence[str],
    today: str = "",
) -> Plan:
    """Plan the named Evals on one revision, under the rules of that revision.

    Raises `UsageError` for a name that is not there, `InvalidManifests` for what is wrong.
    """
    under = read_rules(repository, revision, shared)
    rules = replace(under.rules, base_tip=None)
    if rules.unread:
        return plan_without_rules(revision, None, rules)
    snapshot = read_revision(repository, registries, revision, under.config)
    known_evals = [evaluation.name for evaluation in snapshot.catalogue.evals]
    known_fixtures = [fixture.name for fixture in snapshot.catalogue.fixtures]
    known_fixtures += {one.family for one in snapshot.catalogue.fixtures if one.family}
    locked = snapshot.locked
    if snapshot.problems and not {*evals} <= {*known_evals}:
        raise InvalidManifests(snapshot.problems)
    perhaps = f" It may be sealed: {why_locked(sorted(locked))}" if locked else ""
    refuse_names("Eval", evals, known_evals, perhaps)
    refuse_names("fixture", fixtures, known_fixtures, perhaps)
    plan = plan_revision(snapshot, evals, fixtures, rules)
    plan = with_quarantine(plan, today, (snapshot.catalogue,)) if today else plan
    if plan.nothing:
        raise UsageError(plan.nothing, hint="Run `gateval plan` to see which Eval runs what.")
    plan = without_lacking(repository, plan, snapshot, None)
    return _finished(repository, plan, snapshot)


@reading
def plan_everything(
    repository: Repository,
    registries: Registries,
    revision: Revision,
    shared: SharedRules,
    config_path: str = GATE_CONFIG_PATH,
    narrowing: Narrowing = EVERYTHING,
    due: Callable[[Iterable[Eval]], frozenset[str]] | None = None,
    today: str = "",
) -> Plan:
    """Plan all Evals on one revision, under its own rules, as far as they are looked at.

    With `due`, only those are planned whose names it returns; the plan is empty without any. Raises
    `UsageError` when there is none, `InvalidManifests` for what is wrong.
    """
    under = read_rules(repository, revision, shared, config_path)
    rules = replace(under.rules, base_tip=None)
    if rules.unread:
        return plan_without_rules(revision, None, rules)
    snapshot = read_revision(repository, registries, revision, under.config, config_path)
    refuse_unknown(narrowing, snapshot.catalogue)
    names = [one.name for one in snapshot.catalogue.evals]
    asked = due(snapshot.catalogue.evals) if due else frozenset(names)
    if names and not asked:
        return plan_revision(snapshot, (), (), rules, "schedule")
    plan = plan_revision(snapshot, tuple(asked), (), rules, "schedule", whole=True)
    plan = narrow(plan, narrowing)
    plan = with_quarantine(plan, today, (snapshot.catalogue,)) if today else plan
    if plan.nothing and not plan.doubts:
        raise UsageError(f"There is no Eval to run on {revision.short}.", hint=_FIRST)
    plan = without_lacking(repository, plan, snapshot, None)
    sealed = any(one.sealed for one in plan.evals)
    plan = plan.replace(batched=plan.policy.judge.batch and not sealed)
    return _finished(repository, plan, snapshot)


_FIRST = "Write the first with `gateval init`, or end the schedule."


def _finished(repository: Repository, plan: Plan, head: Snapshot) -> Plan:
    """Return the plan with the disk that it needs. Raises `InvalidManifests` for LFS pointers."""
    planned = {definition.name for definition in plan.agents}
    agents = [agent for agent in head.catalogue.agents if agent.name in planned]
    problems = pointer_problems(repository, agents, head)
    if problems:
        raise InvalidManifests(problems)
    if not plan.evals:
        return plan
    from gateval.pipeline.exports import disk_needed  # asyncio: not where nothing is planned

    return plan.replace(disk=disk_needed(repository, plan))


def _with_edits(repository: Repository, plan: Plan, change: ChangeRead) -> Plan:
    """Return the plan with the changed lines of its Agents' files. Without the content of a file
    there are none: what is missing for a candidate is told when it starts.
    """
    files = edited_files(plan, change.head, change.base, change.tip)
    entries = {
        one: one.entries(change.head, change.base) for mine in files.values() for one in mine
    }
    if not entries:
        return plan
    try:
        sizes = repository.sizes(
            entry.oid for mine in entries.values() for entry in mine if not entry.is_submodule
        )
        large = {
            one
            for one, mine in entries.items()
            if any(sizes.get(entry.oid, 0) > LARGEST_FILE for entry in mine)
        }
        paths = sorted({path for one in entries if one not in large for path in one.paths})
        hunks = repository.diff(change.base.revision, change.head.revision, paths)
    except RepositoryError:
        return plan
    return plan.replace(edits=file_edits(files, large, hunks))


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
                        said = (
                            f"{of} depends on the submodule {show_path(path)}, whose content is "
                            "not in this checkout; there is an empty folder in its place."
                        )
                        warnings[said] = None
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
    told = plan.replace(warnings=(*warnings, *plan.warnings), lacking=found)
    if len(kept) == len(plan.evals):
        return told
    agents = {planned.agent for planned in kept}
    return told.replace(
        evals=tuple(kept),
        agents=tuple(one for one in plan.agents if one.name in agents),
        nothing="" if kept else "Nothing can be measured here.",
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


def confirm_revisions(repository: Repository, plan: Plan) -> None:
    """See that the commits of a plan from elsewhere are here and hold the trees it says.

    A decision names the commit, and candidates start from the tree: one must not be claimed and
    the other measured. Raises `StageFileError`, or `RepositoryError` when a commit is not here.
    """
    for revision in (plan.head, plan.base):
        if revision is None or revision.commit is None:
            continue
        if repository.resolve(revision.commit).tree != revision.tree:
            raise StageFileError(
                f"The plan says that {revision.short} holds the tree {revision.tree[:7]}, which is "
                "not so in this repository.",
                hint="Make the plan again, in this repository.",
            )
