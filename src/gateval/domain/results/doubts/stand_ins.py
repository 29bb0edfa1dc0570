"""Which sides were answered by another model than the first of their own manifest. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.grouping import Grouped
from gateval.domain.trials.trial import Side, Trial

MOST = 0.2
"""Share of a side's answered trials in which a stand-in may have answered."""


class StoodIn(NamedTuple):
    """A side of which too much was said by stand-ins: `models` in `trials` of `answered` trials."""

    side: Side
    primary: str
    models: tuple[str, ...]
    trials: int
    answered: int


def stand_ins(plan: Plan, planned: PlannedEval, trials: Grouped) -> Iterator[StoodIn]:
    """Yield the sides of an Eval that say more of a stand-in than of the Agent's first model.

    A stand-in is a model of `spec.models` after the first. Others that an Agent asks beside them
    (`spec.uses`) stand in for nobody.
    """
    for side in planned.sides:
        agent = plan.agent(planned.agent, side)
        if agent is None or len(agent.models) < 2:
            continue
        primary, others = agent.models[0], {*agent.models[1:]} - {agent.models[0]}
        mine = [
            trial
            for fixture in planned.fixtures
            for trial in trials.get((planned.measured_by(fixture.name), fixture.name, side), ())
            if _models(trial)
        ]
        stood_in = [trial for trial in mine if not others.isdisjoint(_models(trial))]
        if len(stood_in) > MOST * len(mine):
            names = {name for trial in stood_in for name in _models(trial) if name in others}
            yield StoodIn(side, primary, tuple(sorted(names)), len(stood_in), len(mine))


def _models(trial: Trial) -> tuple[str, ...]:
    return trial.trace.models if trial.trace else ()
