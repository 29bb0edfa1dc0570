"""Which Evals of the base tip a change has to meet beside its own, and what must run for that.

Only what differs runs again: a fixture that asks the same on head is measured there, once, and
counts for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gateval.domain.bar.evals import lowered, same_judge
from gateval.domain.bar.fixtures import same_test
from gateval.domain.catalogue import select_fixtures
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.scripted import SCRIPTED_PROVIDER, ScriptedModel
from gateval.domain.plan import (
    AgentChange,
    Bar,
    Baseline,
    ChangeKind,
    Lowered,
    PlannedEval,
    Reason,
)
from gateval.domain.selection import script_name
from gateval.domain.snapshot import Snapshot

SUFFIX = ".base-tip"
"""Added to the name of an Eval or a scripted judge as the base tip has it."""


class BarPlan(NamedTuple):
    """The base tip's Evals to run, the scripted judges that only they need, and what is lost:
    Evals whose Agent the change removes, so that nothing can run.
    """

    evals: tuple[PlannedEval, ...] = ()
    scripts: tuple[ScriptedModel, ...] = ()
    lost: tuple[Lowered, ...] = ()


class _Sides(NamedTuple):
    """The three revisions, which Agents changed, and what head's own Evals run."""

    head: Snapshot
    base: Snapshot
    tip: Snapshot
    changes: Mapping[str, AgentChange]
    planned: Mapping[str, PlannedEval]


def plan_bar(
    head: Snapshot,
    base: Snapshot,
    tip: Snapshot,
    changes: Mapping[str, AgentChange],
    planned: Sequence[PlannedEval],
) -> BarPlan:
    """Return what the base tip asks of this change beyond what head's own Evals ask.

    `changes` are the changed Agents by name, `planned` head's own Evals that run.
    """
    sides = _Sides(head, base, tip, changes, {one.name: one for one in planned})
    evals: list[PlannedEval] = []
    scripts: dict[str, ScriptedModel] = {}
    lost: list[Lowered] = []
    for asked in tip.catalogue.evals:
        if not _concerns(asked, sides):
            continue
        if head.catalogue.agent(asked.target_agent) is None:
            lost += _lost(asked, sides)
            continue
        found = _bar_eval(asked, sides)
        if found is not None:
            evals.append(found)
            scripts |= _scripts(asked, found, sides)
    return BarPlan(tuple(evals), tuple(scripts.values()), tuple(lost))


def _concerns(asked: Eval, sides: _Sides) -> bool:
    """Whether the change touches the Agent, or makes the Eval ask less than at the merge-base.

    An Eval that is new on the base tip binds too, once the change touches its Agent.
    """
    if asked.target_agent in sides.changes:
        return True
    before = sides.base.catalogue.eval(asked.name)
    return before is not None and bool(lowered(before, sides.base, sides.head))


def _lost(asked: Eval, sides: _Sides) -> Iterator[Lowered]:
    if sides.base.catalogue.agent(asked.target_agent) is not None:
        yield Lowered(
            place=asked.place,
            what=f"Agent {asked.target_agent} removed: Eval {asked.name} has nothing to run",
        )


def _bar_eval(asked: Eval, sides: _Sides) -> PlannedEval | None:
    """The Eval as the base tip has it, or None when head's own asks all of it."""
    fixtures = select_fixtures(asked, sides.tip.catalogue)
    if not fixtures:
        return None
    ours = sides.head.catalogue.eval(asked.name)
    running = sides.planned.get(asked.name)
    reused = _reusable(asked, fixtures, ours, running, sides)
    said = _said(asked, sides)
    all_reused = len(reused) == len(fixtures)
    if not said and ours and all_reused and _asks_as_much(ours, asked, running, fixtures):
        return None
    change = sides.changes.get(asked.target_agent)
    reps = asked.execution.reps_per_fixture
    if reused and ours is not None:
        reps = ours.execution.reps_per_fixture
    return PlannedEval(
        name=_free_name(asked.name, sides),
        place=asked.place,
        agent=asked.target_agent,
        judge=asked.judge.model_copy(update={"model": _judge_model(asked, sides)}),
        scoring=asked.scoring,
        execution=asked.execution.model_copy(update={"reps_per_fixture": reps}),
        baseline=_baseline(change),
        why=(Reason(where=f"{asked.place.file}:{asked.place.line}", what="asked by the base tip"),),
        fixtures=fixtures,
        bar=Bar(
            eval=asked.name,
            lowered=said,
            reused=tuple(fixture.name for fixture in reused),
        ),
    )


def _said(asked: Eval, sides: _Sides) -> tuple[Lowered, ...]:
    """What head asks less, and of it what only the target branch has brought since."""
    before = sides.base.catalogue.eval(asked.name)
    own = {one.what for one in lowered(before, sides.base, sides.head)} if before else set()
    return tuple(
        one.model_copy(update={"moved": one.what not in own})
        for one in lowered(asked, sides.tip, sides.head)
    )


def _reusable(
    asked: Eval,
    fixtures: Sequence[Fixture],
    ours: Eval | None,
    running: PlannedEval | None,
    sides: _Sides,
) -> list[Fixture]:
    """The fixtures that head's own run measures as the base tip would."""
    if ours is None or running is None or running.agent != asked.target_agent:
        return []
    if ours.execution.reps_per_fixture < asked.execution.reps_per_fixture:
        return []
    alike = same_judge(asked, ours, sides.tip, sides.head)
    mine = {fixture.name: fixture for fixture in running.fixtures}
    return [
        one
        for one in fixtures
        if one.name in mine
        and same_test(one, mine[one.name])
        and (alike or not any(assertion.needs_judge for assertion in one.assertions))
    ]


def _asks_as_much(
    ours: Eval, asked: Eval, running: PlannedEval | None, fixtures: Sequence[Fixture]
) -> bool:
    """Whether head's Eval, with these fixtures and no others, is at least as strict.

    Others could outweigh a failure among these.
    """
    return (
        running is not None
        and {one.name for one in running.fixtures} == {one.name for one in fixtures}
        and ours.scoring.severity_weights == asked.scoring.severity_weights
        and ours.scoring.pass_threshold >= asked.scoring.pass_threshold
    )


def _baseline(change: AgentChange | None) -> Baseline:
    if change is None:
        return Baseline.SAME_AGENT
    return Baseline.NEW_AGENT if change.kind is ChangeKind.NEW else Baseline.MERGE_BASE


def _free_name(name: str, sides: _Sides) -> str:
    """A name for the base tip's version that no Eval of head has."""
    free = f"{name}{SUFFIX}"
    while sides.head.catalogue.eval(free) is not None:
        free += SUFFIX
    return free


def _judge_model(asked: Eval, sides: _Sides) -> str | None:
    """The judge's model; a scripted one that head changes goes by a name of its own."""
    script = script_name(asked.judge.model)
    if script is None or not _differs(script, sides):
        return asked.judge.model
    return f"{SCRIPTED_PROVIDER}/{script}{SUFFIX}"


def _scripts(asked: Eval, planned: PlannedEval, sides: _Sides) -> dict[str, ScriptedModel]:
    script, name = script_name(asked.judge.model), script_name(planned.judge.model)
    if script is None or name is None or script not in sides.tip.scripts:
        return {}
    return {name: sides.tip.scripts[script].model_copy(update={"name": name})}


def _differs(script: str, sides: _Sides) -> bool:
    old, new = sides.tip.scripts.get(script), sides.head.scripts.get(script)
    return old is not None and (new is None or new.digest != old.digest)
