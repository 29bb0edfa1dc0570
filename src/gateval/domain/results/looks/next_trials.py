"""Which trials to start next: the one place where further repetitions are asked for.

It is asked at fixed borders only: before the first trial, and whenever all that it asked for are
finished. So no verdict depends on which trial ended first, and a run that lacks trials in the end
lacks just those that are still asked for.
"""

from __future__ import annotations

from collections.abc import Iterable

from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.plan.sealing import PlanPart, parts_of
from gateval.domain.results.doubts.models import refused_on_both
from gateval.domain.results.grouping import Grouped, with_stored
from gateval.domain.results.progress import PlanProgress, progress
from gateval.domain.statistics.looks import Look
from gateval.domain.trials.trial import Side, Trial, TrialKey


def next_trials(plan: Plan, finished: Iterable[Trial]) -> tuple[TrialKey, ...]:
    """Return the trials to start now, in (fixture, repetition) order, base and head interleaved.

    An empty answer ends the run.
    """
    trials = with_stored(plan, refused_on_both(plan, finished))
    keys: list[TrialKey] = []
    wanted = {
        where: look for part in parts_of(plan) for where, look in _far(part, trials).wanted.items()
    }
    for planned in plan.evals:
        for fixture in planned.own_fixtures:
            if planned.stands(fixture.name) is not None and not planned.sealed:
                continue
            look = wanted[planned.name, fixture.name]
            keys += _keys(planned, fixture.name, look, trials)
    return tuple(keys)


def _far(part: PlanPart, trials: Grouped) -> PlanProgress:
    names = {one.name for one in part.plan.evals}
    mine = {where: group for where, group in trials.items() if where[0] in names}
    return progress(part.plan, mine, part.beside)


def _keys(planned: PlannedEval, fixture: str, look: Look, trials: Grouped) -> Iterable[TrialKey]:
    done = {
        side: {trial.key.repetition for trial in trials.get((planned.name, fixture, side), ())}
        for side in planned.sides
    }
    for repetition in range(1, max(look.base, look.head) + 1):
        for side in planned.sides:
            most = look.base if side is Side.BASE else look.head
            if repetition <= most and repetition not in done[side]:
                yield TrialKey(eval=planned.name, fixture=fixture, side=side, repetition=repetition)
