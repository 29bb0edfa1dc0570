"""From snapshots to a plan. A pure function: the same two revisions always give the same plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from gateval.domain.base import digest
from gateval.domain.manifests.agent import Agent, ModelCallsNeed, RuntimeSpec
from gateval.domain.manifests.catalogue import embedding_scripts, scripted_names, select_fixtures
from gateval.domain.manifests.evaluation import Eval, ScriptedModel
from gateval.domain.manifests.gate_config import BarPolicy, policy_digest
from gateval.domain.paths import path_text, show_path
from gateval.domain.plan.plan import AgentChange, AgentDefinition, HiddenFiles, Plan, SideScripts
from gateval.domain.plan.planned_eval import Baseline, Lowered, PlannedEval, Reason, Unreadable
from gateval.domain.plan.sealing import is_sealed_eval
from gateval.domain.planning.bar.doubts import base_doubts, head_doubts, old_problems, suite_doubts
from gateval.domain.planning.bar.fixtures import narrowed_closures, weaker_agents
from gateval.domain.planning.bar.planning import (
    NOTHING_HELD,
    BarPlan,
    WithheldEvals,
    held_back,
    laxer_rules,
    plan_bar,
)
from gateval.domain.planning.change import (
    detect_changes,
    locked_files,
    locked_for,
    meaning_digest,
    system_text,
    why_locked,
)
from gateval.domain.planning.closure import (
    closure_digest,
    closure_files,
    closure_of,
    working_directory,
)
from gateval.domain.planning.selection import baseline_of, removed_since, why_selected
from gateval.domain.planning.shares import with_shares, within
from gateval.domain.planning.snapshot import GateRules, Snapshot
from gateval.domain.planning.warnings import (
    after_merge_sentence,
    coverage_warnings,
    demand_warnings,
    held_warnings,
    idle_warnings,
    new_providers,
    rules_warnings,
    shown_warnings,
    tip_warnings,
    unclaimed,
    why_nothing,
)
from gateval.domain.tree import Revision
from gateval.domain.trials.trial import Side


def definitions(
    planned: Iterable[PlannedEval], snapshot: Snapshot, side: Side
) -> tuple[AgentDefinition, ...]:
    """Return the Agents that the planned Evals ask on this side, by name."""
    names = sorted({one.agent for one in planned if side in one.sides})
    agents = (snapshot.catalogue.agent(name) for name in names)
    return tuple(define(agent, snapshot, side) for agent in agents if agent is not None)


def alike(
    head: Sequence[AgentDefinition], base: Sequence[AgentDefinition]
) -> tuple[AgentDefinition, ...]:
    """Return the Agents of both sides, base's started as head's are: in a copy, and redirected.

    How the gate starts a program is no doing of the program. A change that turns one of these on
    would else be compared with a base that cannot answer.
    """
    wanted = {one.name: one.runtime for one in head if one.runtime.starts_process}
    return (*head, *(_started_as(one, wanted.get(one.name)) for one in base))


def _started_as(agent: AgentDefinition, head: RuntimeSpec | None) -> AgentDefinition:
    """Return base's Agent with what head's manifest turns on. Its closure says so: trials of it
    that were stored without that do not stand for these.
    """
    own = agent.runtime
    if head is None or not own.starts_process:
        return agent
    more: dict[str, Any] = {}
    if head.workdir and not own.workdir and not own.in_playground:
        more["workdir"] = head.workdir
    if head.redirect and not own.redirect:
        more |= {"redirect": True, "hook": head.hook}
    if not more:
        return agent
    closure = digest([agent.closure, *(f"{key} {more[key]}" for key in sorted(more))])
    runtime = own.replace(**more)
    return agent.replace(runtime=runtime, closure=closure)


def define(agent: Agent, snapshot: Snapshot, side: Side) -> AgentDefinition:
    """Resolve an Agent at one revision: its prompt's text, its folder, its closure's hash.

    Rules of scripted models that it asks are in the hash.
    """
    closure = closure_of(agent, snapshot)
    files = closure_files(closure, snapshot)
    scripts = (snapshot.scripts.get(name) for name in scripted_names(agent))
    rules = [script.digest for script in scripts if script]
    meant = meaning_digest(agent, snapshot)
    return AgentDefinition.of_known(
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
        file=agent.path if any(agent is one for one in snapshot.catalogue.found) else "",
    )


def asked_scripts(
    planned: Sequence[PlannedEval],
    head: Snapshot,
    base: Snapshot | None,
    more: Sequence[ScriptedModel] = (),
) -> tuple[SideScripts, ...]:
    """Return the scripted models that are asked, by side; `more` are judges of the base tip."""
    judges = {name for one in planned for name in one.judge.scripts}
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
    """Return the hidden files of each side from which a program is started, as git has them.

    A plan holds paths in UTF-8; manifests of other names are refused.
    """
    found = []
    for side, snapshot in ((Side.HEAD, head), (Side.BASE, base)):
        if snapshot is None:
            continue
        agents = [snapshot.catalogue.agent(one.agent) for one in planned if side in one.sides]
        if all(agent is None or not agent.starts_process for agent in agents):
            continue
        paths = (
            path for path in snapshot.paths if snapshot.is_hidden(path) and path_text(path) == path
        )
        found.append(HiddenFiles(side=side, paths=tuple(paths)))
    return tuple(found)


def plan_change(
    head: Snapshot,
    base: Snapshot,
    rules: GateRules,
    tip: Snapshot | None = None,
    *,
    landed: bool = False,
) -> Plan:
    """Plan what a change from `base` (the merge-base) to `head` calls for.

    `tip` is the target branch as it is now, whose bar binds as the policy says; None if nothing
    that could matter was read of it. `landed` says that head is on the target branch: what is
    sealed on it runs then.
    """
    changes = detect_changes(head, base)
    planned, bar, lost, held = _asked(head, base, tip, changes, rules, landed=landed)
    doubts = (
        *bar.doubts,
        *base_doubts(base, planned, bar.doubts),
        *head_doubts(head, base, planned),
    )
    removed = removed_since(head.catalogue, base.catalogue)
    first = rules.absent and rules.edit is not None and rules.edit.first
    locked = locked_files(head, base, tip, changes)
    return Plan(
        head=head.revision,
        base=base.revision,
        base_tip=rules.base_tip,
        policy=rules.policy,
        policy_source=rules.source,
        policy_digest=policy_digest(rules.policy),
        adds_config=first,
        adds_gate=first and not base.catalogue.evals and not base.problems,
        changes=changes,
        agents=alike(definitions(planned, head, Side.HEAD), definitions(planned, base, Side.BASE)),
        evals=tuple(planned),
        removed=removed,
        lost=lost,
        doubts=doubts,
        unclaimed=_unclaimed(head, base, rules, held),
        scripts=asked_scripts(planned, head, base, bar.scripts),
        hidden=hidden_files(planned, head, base),
        new_providers=new_providers(head, base) if planned else (),
        warnings=(
            *(held_warnings(held) if planned else ()),
            *coverage_warnings(planned, changes, head, base, held),
            *shown_warnings(planned, head, base),
            *idle_warnings(planned, head, base),
            *old_problems(head, doubts),
            *_told(head, base, tip, rules),
        ),
        locked=locked,
        after_merge=held.after_merge,
        nothing="" if planned else _nothing(changes, doubts, head, base, locked, held),
    )


def _nothing(
    changes: Sequence[AgentChange],
    doubts: Sequence[Unreadable],
    head: Snapshot,
    base: Snapshot,
    locked: Sequence[str],
    held: WithheldEvals,
) -> str:
    """Return the sentence about a change for which no Eval runs."""
    if held.after_merge and not locked and not doubts:
        return f"Nothing to evaluate yet. {after_merge_sentence(held.after_merge)}"
    told = " ".join(("", *held_warnings(held)))
    return (why_locked(locked) or why_nothing(changes, doubts, head, base)) + told


def _unclaimed(
    head: Snapshot, base: Snapshot, rules: GateRules, held: WithheldEvals
) -> tuple[str, ...]:
    idle = {one.name for one in held.idle}
    return tuple(map(show_path, unclaimed(rules.policy.must_belong, head, base, idle)))


class _Asked(NamedTuple):
    """The Evals that run, what the target branch's bar adds, what asks less than it, and which
    sealed Evals of head do not run as they are.
    """

    evals: list[PlannedEval]
    bar: BarPlan
    lost: tuple[Lowered, ...]
    held: WithheldEvals


def _asked(
    head: Snapshot,
    base: Snapshot,
    tip: Snapshot | None,
    changes: Sequence[AgentChange],
    rules: GateRules,
    *,
    landed: bool,
) -> _Asked:
    """Return what is asked of the change."""
    planned, bar = _selected(head, base, changes), BarPlan()
    lost = tuple(laxer_rules(rules.edit)) if rules.edit else ()
    held = NOTHING_HELD if landed or tip is None else held_back(planned, head, base, tip)
    planned = held.left(planned)
    if tip is not None and (rules.policy.bar is not BarPolicy.HEAD or held.instead):
        planned, bar = _with_bar(planned, head, base, tip, changes, rules.policy.bar, held)
        lost = (*bar.lost, *lost)
    if tip is not None and rules.policy.bar is not BarPolicy.HEAD:
        lost = (
            *lost,
            *narrowed_closures(head, base, tip, changes),
            *weaker_agents(head, base, tip, changes),
        )
    planned = _with_needs(planned, tip or base)
    planned = within(planned, rules.policy.budget.repetitions)
    return _Asked(with_shares(planned, head, base, tip, rules.policy), bar, lost, held)


def _told(
    head: Snapshot, base: Snapshot, tip: Snapshot | None, rules: GateRules
) -> tuple[str, ...]:
    """Return what is odd about the target branch and the rules."""
    asked = demand_warnings(rules.policy.must_belong, head, base)
    return (*tip_warnings(base, tip), *rules_warnings(rules.edit), *asked, *rules.ignored)


def plan_revision(
    head: Snapshot,
    names: Sequence[str],
    fixtures: Sequence[str],
    rules: GateRules,
    asked: str = "command line",
    *,
    whole: bool = False,
) -> Plan:
    """Plan the named Evals on one revision, without a baseline; `fixtures` narrows them if given.

    Every name must exist: the caller has checked. `asked` says where they were named. With `whole`,
    they are all that the revision has, and what is wrong with suites is lacking.
    """
    doubts = suite_doubts(head, None if whole else names)
    planned = list(_named(head, names, fixtures, asked))
    planned = within(_with_needs(planned, head), rules.policy.budget.repetitions)
    asked_for = [one for one in head.catalogue.evals if one.name in names]
    locked = locked_for(asked_for, head.catalogue)
    return Plan(
        head=head.revision,
        policy=rules.policy,
        policy_source=rules.source,
        policy_digest=policy_digest(rules.policy),
        agents=definitions(planned, head, Side.HEAD),
        evals=tuple(planned),
        only=tuple(fixtures),
        doubts=doubts,
        scripts=asked_scripts(planned, head, None),
        hidden=hidden_files(planned, head, None),
        warnings=(
            *coverage_warnings(planned, (), head, None),
            *shown_warnings(planned, head, None),
            *old_problems(head, doubts),
            *rules.ignored,
        ),
        locked=locked,
        nothing="" if planned else why_locked(locked) or _NO_FIXTURE,
    )


def _named(
    head: Snapshot, names: Sequence[str], fixtures: Sequence[str], asked: str
) -> Iterator[PlannedEval]:
    for evaluation in head.catalogue.evals:
        if evaluation.name in names and select_fixtures(evaluation, head.catalogue):
            why = (Reason(where=asked, what="asked for"),)
            one = _planned(evaluation, head, Baseline.NONE, why)
            chosen = tuple(
                f for f in one.fixtures if not fixtures or {f.name, f.family} & set(fixtures)
            )
            if chosen:
                yield one.replace(fixtures=chosen)


_NO_FIXTURE = "None of the named Evals has one of the named fixtures."


def plan_without_rules(head: Revision, base: Revision | None, rules: GateRules) -> Plan:
    """Return a plan without trials: unreadable rules might forbid any of them."""
    return Plan(
        head=head,
        base=base,
        base_tip=rules.base_tip,
        policy=rules.policy,
        policy_source=rules.source,
        policy_digest=policy_digest(rules.policy),
        rules_unread=rules.unread,
        nothing="Nothing was looked at, because the rules cannot be read.",
    )


def _selected(head: Snapshot, base: Snapshot, changes: Sequence[AgentChange]) -> list[PlannedEval]:
    """Head's own Evals that the changes call for."""
    by_name = {change.agent: change for change in changes}
    return [
        _planned(evaluation, head, baseline_of(by_name.get(evaluation.target_agent)), why)
        for evaluation in head.catalogue.evals
        if (why := why_selected(evaluation, by_name, head, base))
        and not (head.locked and not select_fixtures(evaluation, head.catalogue))
    ]


def _with_bar(
    planned: list[PlannedEval],
    head: Snapshot,
    base: Snapshot,
    tip: Snapshot,
    changes: Sequence[AgentChange],
    policy: BarPolicy,
    held: WithheldEvals,
) -> tuple[list[PlannedEval], BarPlan]:
    """Add the Evals of the target branch; by the policy `base`, they stand instead of head's, and
    by the policy `head` only what is sealed is asked of it.
    """
    by_name = {change.agent: change for change in changes}
    whole = policy is not BarPolicy.HEAD
    bar = plan_bar(head, base, tip, by_name, planned, held.instead, whole=whole)
    if policy is BarPolicy.BASE:
        replaced = {one.own_name for one in bar.evals}
        planned = [one for one in planned if one.name not in replaced]
        bar = plan_bar(head, base, tip, by_name, planned, held.instead)
    return [*planned, *bar.evals], bar


def _with_needs(planned: Iterable[PlannedEval], bar: Snapshot) -> list[PlannedEval]:
    """The Evals, each told whether a model has to give its Agent's answers, as `bar` says."""
    free = {
        agent.name
        for agent in bar.catalogue.agents
        if agent.spec.model_calls is ModelCallsNeed.OPTIONAL
    }
    return [one.replace(needs_model=False) if one.agent in free else one for one in planned]


def _planned(
    evaluation: Eval, head: Snapshot, baseline: Baseline, why: tuple[Reason, ...]
) -> PlannedEval:
    fixtures = select_fixtures(evaluation, head.catalogue)
    return PlannedEval(
        kind=evaluation.kind,
        name=evaluation.name,
        version=evaluation.version,
        feedback=evaluation.feedback,
        place=evaluation.place,
        agent=evaluation.target_agent,
        judge=evaluation.judge,
        calibration=head.catalogue.calibration(evaluation.judge.calibration or ""),
        scoring=evaluation.scoring,
        execution=evaluation.execution,
        baseline=baseline,
        why=why,
        fixtures=fixtures,
        sealed=is_sealed_eval(evaluation, fixtures),
    )
