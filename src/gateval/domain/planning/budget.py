"""Keeps what is planned within the repetitions that a policy gives to one run.

It is done before anything runs, so the schedule that follows is as valid as one that asks for so
few by itself. Of n repetitions the nth tells least: the variance of a rate falls by p(1-p)/n(n-1).
"""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.plan.planned_eval import PlannedEval


def within(planned: Sequence[PlannedEval], trials: int | None) -> list[PlannedEval]:
    """Return the Evals with at most so many planned trials in all; None is no limit.

    The most repeated are cut first, all to the same number; what is then left over goes to the
    first ones again. No fixture goes without one trial on each of its sides.
    """
    if trials is None or _total(planned, None) <= trials:
        return list(planned)
    low, high = 1, max(one.execution.reps_per_fixture for one in planned)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _total(planned, middle) <= trials else (low, middle - 1)
    spare = trials - _total(planned, low)
    raised: set[str] = set()
    for name in dict.fromkeys(one.own_name for one in planned):
        group = [one for one in planned if one.own_name == name]
        more = sum(_trials(one, low + 1) - _trials(one, low) for one in group)
        if 0 < more <= spare:
            raised.add(name)
            spare -= more
    return [_cut(one, low + (one.own_name in raised)) for one in planned]


def _total(planned: Sequence[PlannedEval], most: int | None) -> int:
    return sum(_trials(one, most) for one in planned)


def _trials(planned: PlannedEval, most: int | None) -> int:
    reps = planned.execution.reps_per_fixture
    reps = reps if most is None else min(reps, most)
    return len(planned.own_fixtures) * reps * len(planned.sides)


def _cut(planned: PlannedEval, most: int) -> PlannedEval:
    asked = planned.execution.reps_per_fixture
    if asked <= most:
        return planned
    execution = planned.execution.model_copy(update={"reps_per_fixture": most})
    return planned.model_copy(update={"execution": execution, "repetitions_asked": asked})
