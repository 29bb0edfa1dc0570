"""The trials that a plan asks for at first, counted out one by one."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.plan.plan import Plan
from gateval.domain.trials.trial import Side, TrialKey


def first_trials(plan: Plan) -> tuple[TrialKey, ...]:
    """Those of each fixture that is measured, by repetition, base first; stored ones are there."""
    return tuple(_first_trials(plan))


def _first_trials(plan: Plan) -> Iterator[TrialKey]:
    for planned in plan.evals:
        stored = planned.stored_counts()
        for fixture in planned.own_fixtures:
            if planned.stands(fixture.name) is not None:
                continue
            for number in range(1, planned.execution.reps_per_fixture + 1):
                for side in planned.sides:
                    if side is Side.HEAD or number > stored.get(fixture.name, 0):
                        yield TrialKey(
                            eval=planned.name, fixture=fixture.name, side=side, repetition=number
                        )
