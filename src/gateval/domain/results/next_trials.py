"""Which trials to start next: the one place where further repetitions are asked for.

It is asked at fixed borders only: before the first trial, and whenever all that it asked for are
finished. So no verdict depends on which trial ended first, and a run that lacks trials in the end
lacks just those that are still asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import CONFIRMING, PlannedEval
from gateval.domain.results.broad_slippage import broad_look
from gateval.domain.results.course import course_of
from gateval.domain.results.grouping import Grouped, group_trials
from gateval.domain.results.threshold import threshold_repetitions
from gateval.domain.statistics.looks import Look
from gateval.domain.trials.trial import Side, Trial, TrialKey


def next_trials(plan: Plan, finished: Iterable[Trial]) -> tuple[TrialKey, ...]:
    """Return the trials to start now, in (fixture, repetition) order, base and head interleaved.

    An empty answer ends the run.
    """
    trials = group_trials(finished)
    keys: list[TrialKey] = []
    for planned in plan.evals:
        wanted = _wanted(plan, planned, trials)
        for name, look in wanted.items():
            keys += _keys(planned, name, look, trials)
    return tuple(keys)


def _wanted(plan: Plan, planned: PlannedEval, trials: Grouped) -> Mapping[str, Look]:
    """The trials of each side that every own fixture of an Eval has to have."""
    broad = broad_look(planned, trials)
    least = threshold_repetitions(planned, trials)
    users = [one for one in plan.evals if one.bar and one.bar.eval == planned.name]
    least = max([least, *(threshold_repetitions(one, trials) for one in users)])
    wanted: dict[str, Look] = {}
    for fixture in planned.own_fixtures:
        if planned.stands(fixture.name) is not None:
            continue
        base, head = (trials.get((planned.name, fixture.name, side), ()) for side in _SIDES)
        look = course_of(planned, fixture, base, head).wanted
        if broad is not None and fixture.name in planned.compared:
            look = Look(base=max(look.base, broad.base), head=max(look.head, broad.head))
        head_trials = max(look.head, least)
        if needs_more(planned, fixture.name, head):
            head_trials = max(head_trials, CONFIRMING)
        wanted[fixture.name] = look.model_copy(update={"head": head_trials})
    return wanted


_SIDES = (Side.BASE, Side.HEAD)


def needs_more(planned: PlannedEval, fixture: str, head: Sequence[Trial]) -> bool:
    """Whether a new fixture has failed its first trial, so that two of three decide."""
    if planned.threshold is not None or fixture not in planned.added:
        return False
    return any(trial.key.repetition == 1 and trial.passed is False for trial in head)


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
