"""Which Evals a change selects, or a person picks, and why each of them runs.

Were it the gate `gateval`, naming one Eval that passes would turn the required check green.
So its check run and its comment have another name: it can be required by itself, and never stands
for the whole.

It is the same gate with holes, not a gate of its own: nothing parts its verdict
from the whole gate's but what it says. So it never passes while anything is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from gateval.domain.base import Value, digest
from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.paths import nearest, show_path
from gateval.domain.plan.plan import (
    AgentChange,
    AgentDefinition,
    ChangeKind,
    HiddenFiles,
    Plan,
    SideScripts,
    SkippedEval,
)
from gateval.domain.plan.planned_eval import (
    Baseline,
    Lowered,
    PlannedEval,
    Reason,
    Removed,
    SkippedFixture,
)
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.problems import SourceLocation
from gateval.domain.statistics.design import BROAD, FIXTURES, fixture_share, joint_shares, split
from gateval.domain.text import listing
from gateval.domain.trials.trial import Side
from gateval.errors import UsageError

WHOLE = "gateval"
"""What the gate is called that leaves nothing out."""

_LONGEST = 60
_DIGITS = 12


class Narrowing(Value):
    """Which Agents and Evals to look at; empty means all. An Eval has to fit both.

    `scheduled` is a run by the clock, which measures one revision and no change.
    """

    agents: tuple[str, ...] = ()
    evals: tuple[str, ...] = ()
    scheduled: bool = False

    @property
    def gate(self) -> str:
        """The gate's name: `gateval`, or one that differs for every other narrowing.

        Names of manifests hold no underscore, so it can part them.
        """
        parts = (("agents", self.agents), ("evals", self.evals))
        named = ["_".join((what, *names)) for what, names in parts if names]
        name = "__".join([*(["scheduled"] if self.scheduled else []), *named]) or WHOLE
        if len(name) <= _LONGEST:
            return name
        return f"{name[: _LONGEST - _DIGITS - 1]}_{digest(name)[:_DIGITS]}"

    def keeps(self, agent: str, evaluation: str) -> bool:
        """Whether this Eval of this Agent is looked at."""
        return (not self.agents or agent in self.agents) and (
            not self.evals or evaluation in self.evals
        )

    def __str__(self) -> str:
        parts = (("the Agents", self.agents), ("the Evals", self.evals))
        return " and ".join(f"{what} {', '.join(names)}" for what, names in parts if names)


EVERYTHING = Narrowing()


def refuse_unknown(narrowing: Narrowing, catalogue: Catalogue) -> None:
    """Raise `UsageError` for a name that head has no manifest for.

    Evals are only read when something changed that could select one; else there is nothing to run.
    """
    agents = [agent.name for agent in catalogue.agents]
    evals = [evaluation.name for evaluation in catalogue.evals]
    refuse_names("Agent", narrowing.agents, agents)
    refuse_names("Eval", narrowing.evals, evals or narrowing.evals)


def refuse_names(kind: str, names: Iterable[str], known: Sequence[str], more: str = "") -> None:
    """Raise `UsageError` for the first of these names of a kind of manifest that is not known; it
    says `more`, too.
    """
    for name in names:
        if name not in known:
            raise UsageError(
                f'There is no {kind} "{name}" on this revision.{nearest(name, known)}{more}',
                hint=f"Known: {', '.join(sorted(known)[:20]) or 'none'}.",
            )


def narrow(plan: Plan, narrowing: Narrowing) -> Plan:
    """Return the plan without what is not looked at, and with a warning that says so."""
    if not narrowing.agents and not narrowing.evals:
        return plan
    kept = tuple(one for one in plan.evals if narrowing.keeps(one.agent, one.own_name))
    left = [one.name for one in plan.evals if one not in kept]
    said = f"This gate looks at {narrowing} only."
    if left:
        said += f" Left out, though the change calls for them: {', '.join(left)}."
    nothing = plan.nothing or ("" if kept else f"Nothing to evaluate. {said}")
    agents = {one.agent for one in kept}
    return plan.replace(
        evals=kept,
        agents=tuple(agent for agent in plan.agents if agent.name in agents),
        warnings=(said, *plan.warnings),
        nothing=nothing,
    )


_NAMED = 8


class Pick(Value):
    """Which Agents, Evals and fixtures to look at; empty means all. A fixture has to fit each.

    The name of a template with cases stands for all of them. `failed` are pairs of Eval and fixture
    that did not pass in an earlier run; None if nobody asked for these.
    """

    agents: tuple[str, ...] = ()
    evals: tuple[str, ...] = ()
    fixtures: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All names that were asked for."""
        return (*self.agents, *self.evals, *self.fixtures)

    def keeps(self, planned: PlannedEval, fixture: Fixture) -> bool:
        """Whether this fixture of this Eval is looked at."""
        return (
            (not self.agents or planned.agent in self.agents)
            and (not self.evals or planned.own_name in self.evals)
            and (not self.fixtures or not {fixture.name, fixture.family}.isdisjoint(self.fixtures))
            and (self.failed is None or (planned.own_name, fixture.name) in self.failed)
        )


ALL = Pick()


def refuse_unknown_names(pick: Pick, plan: Plan, head: Catalogue) -> None:
    """Raise `UsageError` for a name that neither head nor the plan has."""
    fixtures = (*head.fixtures, *(fixture for one in plan.evals for fixture in one.fixtures))
    evals = {one.name for one in head.evals} | {one.own_name for one in plan.evals}
    cases = {one.name for one in fixtures} | {one.family for one in fixtures if one.family}
    refuse_names("Agent", pick.agents, sorted({one.name for one in head.agents}))
    refuse_names("Eval", pick.evals, sorted(evals))
    refuse_names("fixture", pick.fixtures, sorted(cases))


def picked(plan: Plan, pick: Pick, head: Catalogue) -> Plan:
    """Return the plan with what was picked, and with what is left out by name.

    Where nothing is to be evaluated, nothing is left out. Raises `UsageError` for an unknown name,
    and when the change calls for nothing of what was picked.
    """
    if pick == ALL:
        return plan
    refuse_unknown_names(pick, plan, head)
    if plan.nothing:
        return plan
    kept = tuple(_parts(plan.evals, pick))
    if not kept:
        waiting = " and ".join(
            one.eval
            for one in plan.after_merge
            if one.eval in pick.evals or not {*one.named}.isdisjoint(pick.fixtures)
        )
        sealed = f" What is new in {waiting} is sealed and first runs after the merge." * bool(
            waiting
        )
        raise UsageError(
            f"The change calls for nothing of what was asked for.{sealed}",
            hint="`gateval plan` shows what it calls for; `gateval run EVAL --fixture NAME` runs "
            "anything, without a comparison.",
        )
    names, agents = {one.name for one in kept}, {one.agent for one in kept}
    left = tuple(
        SkippedEval(name=one.own_name, fixtures=len(one.own_fixtures))
        for one in plan.evals
        if one.name not in names and one.own_fixtures
    )
    warnings = (*_sentences(kept, left), *_gone(plan, pick), *plan.warnings)
    return plan.replace(
        evals=kept,
        agents=tuple(agent for agent in plan.agents if agent.name in agents),
        left_out=left,
        warnings=warnings,
    )


def _parts(evals: Sequence[PlannedEval], pick: Pick) -> Iterator[PlannedEval]:
    for planned in evals:
        names = {one.name for one in planned.fixtures if pick.keeps(planned, one)}
        if len(names) == len(planned.fixtures):
            yield planned
        elif names:
            yield _part(planned, names)


def _part(planned: PlannedEval, names: set[str]) -> PlannedEval:
    """Return the Eval with these fixtures. What all together would say cannot be said."""
    bar = planned.bar
    if bar is not None:
        reused = tuple(name for name in bar.reused if name in names)
        bar = bar.replace(reused=reused)
    return planned.replace(
        fixtures=tuple(one for one in planned.fixtures if one.name in names),
        left_out=tuple(
            SkippedFixture(name=one.name, severity=one.severity)
            for one in planned.fixtures
            if one.name not in names
        ),
        bar=bar,
        compared=tuple(name for name in planned.compared if name in names),
        added=tuple(name for name in planned.added if name in names),
        standing=tuple(one for one in planned.standing if one.fixture in names),
        broad_share=0.0,
    )


def _sentences(kept: Sequence[PlannedEval], left: Sequence[SkippedEval]) -> Iterator[str]:
    """Yield what is left out, by name."""
    names = [f"{one.own_name}/{gone.name}" for one in kept for gone in one.left_out]
    names += [f"all of {one.name}" for one in left]
    names = list(dict.fromkeys(names))
    if names:
        yield f"left out, though the change calls for them: {listing(names, _NAMED)}"


def _gone(plan: Plan, pick: Pick) -> Iterator[str]:
    """Yield what did not pass before and is not called for any more."""
    here = {(one.own_name, fixture.name) for one in plan.evals for fixture in one.fixtures}
    gone = [f"{evaluation}/{name}" for evaluation, name in pick.failed or ()
            if (evaluation, name) not in here]  # fmt: skip
    if gone:
        shown = listing(gone, _NAMED)
        yield f"did not pass before, and the change does not call for it now: {shown}"


OnSide = TypeVar("OnSide", AgentDefinition, SideScripts, HiddenFiles)


def against_itself(plan: Plan) -> Plan:
    """Return the plan of one revision with that revision as its own base."""
    weights = {one.name: plan.policy.eval_weights.get(one.name, 1.0) for one in plan.evals}
    fixtures, broad = split(FIXTURES, weights), split(BROAD, weights)
    return plan.replace(
        base=plan.head,
        evals=tuple(_compared(one, fixtures, broad) for one in plan.evals),
        agents=(*plan.agents, *map(_of_base, plan.agents)),
        scripts=(*plan.scripts, *map(_of_base, plan.scripts)),
        hidden=(*plan.hidden, *map(_of_base, plan.hidden)),
    )


def _compared(
    planned: PlannedEval, fixtures: dict[str, float], broad: dict[str, float]
) -> PlannedEval:
    names = tuple(fixture.name for fixture in planned.fixtures)
    asking = any(fixture.preference is not None for fixture in planned.fixtures)
    joint = joint_shares(broad[planned.name], 0, preferences=asking)
    return planned.replace(
        baseline=Baseline.MERGE_BASE,
        compared=names,
        fixture_share=fixture_share(fixtures[planned.name], len(names)),
        broad_share=joint.whole,
        preference_share=joint.preference,
    )


def _of_base(one: OnSide) -> OnSide:
    return one.replace(side=Side.BASE)


EACH = 3
"""Cases of one file up to which something is said of each."""

Said = TypeVar("Said")


def grouped(
    items: Iterable[Said],
    key: Callable[[Said], Hashable | None],
    one_for: Callable[[Sequence[Said]], Said],
) -> list[Said]:
    """Return the items in order, one in place of more than `EACH` with the same key.

    Those whose key is None stand for themselves.
    """
    groups: dict[Hashable, list[Said]] = {}
    for number, item in enumerate(items):
        found = key(item)
        groups.setdefault(("", number) if found is None else ("of", found), []).append(item)
    return [
        each
        for group in groups.values()
        for each in ([one_for(group)] if len(group) > EACH else group)
    ]


def removed_cases(gone: Sequence[Fixture], evaluation: str) -> list[Removed]:
    """Return what head no longer runs of an Eval, families in one."""
    by_name = {one.name: one for one in gone}

    def family(one: Removed) -> str | None:
        return by_name[one.name].family or None

    def several(group: Sequence[Removed]) -> Removed:
        more = f"{group[0].name} and {len(group) - 1:,} more cases of {family(group[0])}"
        return group[0].replace(name=more)

    each = [
        Removed(kind="fixture", name=one.name, eval=evaluation, place=one.place) for one in gone
    ]
    return grouped(each, family, several)


def lowered_cases(said: Iterable[Lowered]) -> tuple[Lowered, ...]:
    """Return what is lowered, with one entry for the same edit of many cases of a file."""

    def edit(one: Lowered) -> str:
        of_all = one.what.replace(one.fixture, one.family)
        return re.sub(r"assertion (\S+) .* of fixture", r"assertion \1 of fixture", of_all)

    def several(group: Sequence[Lowered]) -> Lowered:
        cases = len({one.fixture for one in group})
        what = f"{edit(group[0])}: {cases:,} cases, the first {group[0].fixture}"
        return group[0].replace(what=what)

    return tuple(grouped(said, lambda one: (edit(one), one.moved) if one.family else None, several))


def why_selected(
    evaluation: Eval, changes: Mapping[str, AgentChange], head: Snapshot, base: Snapshot
) -> tuple[Reason, ...]:
    """Return the reasons to run this Eval of head's; empty when nothing about it changed."""
    found: list[Reason] = []
    change = changes.get(evaluation.target_agent)
    if change is not None and change.kind is not ChangeKind.DELETED:
        what = f"Agent {change.agent} {change.kind}"
        found.append(Reason(where=change.reasons[0].where, what=what))
    before = base.catalogue.eval(evaluation.name)
    if before is None or before.digest != evaluation.digest:
        what = "new Eval" if before is None else "Eval changed"
        found.append(Reason(where=_line(evaluation.place), what=what))
    if before is not None:
        found += _fixture_reasons(evaluation, before, head.catalogue, base.catalogue)
    return (*found, *_judge_reasons(evaluation, head, base))


def _fixture_reasons(
    evaluation: Eval, before: Eval, head: Catalogue, base: Catalogue
) -> list[Reason]:
    old = {fixture.name: fixture for fixture in select_fixtures(before, base)}
    new = {fixture.name: fixture for fixture in select_fixtures(evaluation, head)}
    told: list[tuple[Fixture, str]] = []
    for name in sorted(new.keys() | old.keys()):
        if name not in new:
            told.append((old[name], "removed"))
        elif name not in old:
            told.append((new[name], "added"))
        elif new[name].digest != old[name].digest:
            told.append((new[name], "changed"))

    def several(group: Sequence[tuple[Fixture, str]]) -> tuple[Fixture, str]:
        first, what = group[0]
        return first.replace(name=""), f"{len(group):,} cases of {first.family} {what}"

    found = grouped(told, lambda one: (one[0].family, one[1]) if one[0].family else None, several)
    return [
        Reason(
            where=f"{fixture.place.file}:{fixture.place.line}",
            what=f"fixture {fixture.name} {what}" if fixture.name else what,
        )
        for fixture, what in found
    ]


def _judge_reasons(evaluation: Eval, head: Snapshot, base: Snapshot) -> Iterator[Reason]:
    name = evaluation.judge.calibration
    if name is not None:
        new, old = head.catalogue.calibration(name), base.catalogue.calibration(name)
        if new is not None and (old is None or old.digest != new.digest):
            yield Reason(where=_line(new.place), what=f"calibration {name} changed")
    for script in evaluation.judge.scripts:
        ours, theirs = head.scripts.get(script), base.scripts.get(script)
        if ours and theirs and ours.digest != theirs.digest:
            yield Reason(where=show_path(ours.path), what=f"scripted judge {script} changed")


def removed_since(head: Catalogue, base: Catalogue) -> tuple[Removed, ...]:
    """Return the Evals, and the fixtures of Evals that stay, which base ran and head does not."""
    gone: list[Removed] = []
    for before in base.evals:
        after = head.eval(before.name)
        if after is None:
            gone.append(
                Removed(kind="Eval", name=before.name, eval=before.name, place=before.place)
            )
            continue
        kept = {fixture.name for fixture in select_fixtures(after, head)}
        lacking = [one for one in select_fixtures(before, base) if one.name not in kept]
        gone += removed_cases(lacking, before.name)
    return tuple(gone)


def _line(place: SourceLocation) -> str:
    return f"{place.file}:{place.line}"


def baseline_of(change: AgentChange | None) -> Baseline:
    """Return where the baseline of an Eval comes from, by what happened to its Agent."""
    if change is None:
        return Baseline.SAME_AGENT
    return Baseline.NEW_AGENT if change.kind is ChangeKind.NEW else Baseline.MERGE_BASE
