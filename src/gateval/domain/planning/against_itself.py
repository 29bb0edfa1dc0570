"""A plan that holds a revision against itself, to see how often the gate is wrong about it."""

from __future__ import annotations

from typing import TypeVar

from gateval.domain.plan.bar import Baseline
from gateval.domain.plan.plan import AgentDefinition, HiddenFiles, Plan, SideScripts
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.statistics.shares import BROAD, FIXTURES, fixture_share, split
from gateval.domain.trials.trial import Side

OnSide = TypeVar("OnSide", AgentDefinition, SideScripts, HiddenFiles)


def against_itself(plan: Plan) -> Plan:
    """Return the plan of one revision with that revision as its own base."""
    weights = {one.name: plan.policy.eval_weights.get(one.name, 1.0) for one in plan.evals}
    fixtures, broad = split(FIXTURES, weights), split(BROAD, weights)
    return plan.model_copy(
        update={
            "base": plan.head,
            "evals": tuple(_compared(one, fixtures, broad) for one in plan.evals),
            "agents": (*plan.agents, *map(_of_base, plan.agents)),
            "scripts": (*plan.scripts, *map(_of_base, plan.scripts)),
            "hidden": (*plan.hidden, *map(_of_base, plan.hidden)),
        }
    )


def _compared(
    planned: PlannedEval, fixtures: dict[str, float], broad: dict[str, float]
) -> PlannedEval:
    names = tuple(fixture.name for fixture in planned.fixtures)
    return planned.model_copy(
        update={
            "baseline": Baseline.MERGE_BASE,
            "compared": names,
            "fixture_share": fixture_share(fixtures[planned.name], len(names)),
            "broad_share": broad[planned.name],
        }
    )


def _of_base(one: OnSide) -> OnSide:
    return one.model_copy(update={"side": Side.BASE})
