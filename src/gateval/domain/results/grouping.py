"""Trials by what they belong to, and what came of those of one fixture and side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gateval.domain.base import known_of_last
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.plan.stored import trials_of
from gateval.domain.results.parts import unbroken
from gateval.domain.statistics.walk import Outcomes
from gateval.domain.trials.trial import Side, Trial

Grouped = Mapping[tuple[str, str, Side], tuple[Trial, ...]]
"""Trials by Eval, fixture and side, each in order of repetition."""

LOST_SHARE = 0.2
"""The largest part of a fixture's trials that may be lost on a side."""


def group_trials(trials: Iterable[Trial]) -> Grouped:
    """Return the trials by (Eval, fixture, side)."""
    return _grouped(tuple(trials))


@known_of_last
def _grouped(trials: tuple[Trial, ...]) -> Grouped:
    groups: dict[tuple[str, str, Side], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.key.eval, trial.key.fixture, trial.key.side), []).append(trial)
    return {
        name: tuple(sorted(group, key=lambda t: t.key.repetition)) for name, group in groups.items()
    }


def with_stored(plan: Plan, trials: Iterable[Trial]) -> Grouped:
    """Return the trials by (Eval, fixture, side), the plan's stored ones among those of base."""
    groups = dict(group_trials(trials))
    for planned in plan.evals:
        for one in planned.stored:
            where = planned.name, one.fixture, Side.BASE
            before = trials_of(planned.name, one.fixture, one.marks)
            groups[where] = (*before, *groups.get(where, ()))
    return groups


def unanswered(planned: PlannedEval, trials: Grouped) -> bool:
    """Whether an Eval's trials were measured and none of them was answered, on any side.

    A silent side is measured where the other one answers. Where neither does, nothing was: no score
    follows from it.
    """
    if planned.standing or any(mark in "pf" for one in planned.stored for mark in one.marks):
        return False
    mine = [
        trial
        for name, owner in planned.owners().items()
        for side in planned.sides
        for trial in trials.get((owner, name, side), ())
        if trial.passed is not None or trial.assessments  # of an answer, though judging was in vain
    ]
    return bool(mine) and not any(trial.answered for trial in mine)


def outcomes(trials: Sequence[Trial]) -> Outcomes:
    """Return the outcomes of a side's trials as far as no repetition is missing."""
    return [trial.passed for trial in unbroken(trials)]


def too_many_lost(trials: Outcomes) -> bool:
    """Whether more of them were lost than may be."""
    return sum(outcome is None for outcome in trials) > LOST_SHARE * len(trials)
