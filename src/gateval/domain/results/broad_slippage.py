"""Whether an Eval's fixtures, each a little worse, are worse together."""

from __future__ import annotations

from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.course import course_of, outcomes
from gateval.domain.results.grouping import Grouped
from gateval.domain.statistics.broad import Broad, broad_step, first
from gateval.domain.statistics.design import Step
from gateval.domain.statistics.looks import Look
from gateval.domain.trials.trial import Side


def broad_slippage(planned: PlannedEval, trials: Grouped) -> Broad | None:
    """Return what the newest look at all compared fixtures says; None where it says nothing."""
    found: Broad | None = None
    looks = planned.broad_looks
    for index, look in enumerate(looks):
        measured = [name for name in planned.compared if planned.stands(name) is None]
        sides = [_sides(planned, name, trials) for name in measured]
        if any(len(base) < look.base or len(head) < look.head for base, head in sides):
            break
        strata = [first(look, base, head) for base, head in sides]
        found = broad_step(
            looks, index, strata, planned.broad_share, found=_one_regressed(planned, trials)
        )
        if found.step is not Step.GO_ON:
            break
    return found


def _one_regressed(planned: PlannedEval, trials: Grouped) -> bool:
    """Whether a fixture has regressed by itself, so that the Eval blocks anyway."""
    for fixture in planned.fixtures:
        name = planned.measured_by(fixture.name)
        base, head = (trials.get((name, fixture.name, side), ()) for side in (Side.BASE, Side.HEAD))
        walk = course_of(planned, fixture, base, head).walk
        if walk is not None and walk.step is Step.REGRESSED:
            return True
    return False


def broad_look(planned: PlannedEval, trials: Grouped) -> Look | None:
    """Return the trials that every compared fixture needs for the next look, if there is one."""
    found = broad_slippage(planned, trials)
    if found is None or found.step is not Step.GO_ON:
        return None
    return planned.broad_looks[1]


def _sides(planned: PlannedEval, fixture: str, trials: Grouped) -> tuple[list[bool | None], ...]:
    name = planned.measured_by(fixture)
    return tuple(
        list(outcomes(trials.get((name, fixture, side), ()))) for side in (Side.BASE, Side.HEAD)
    )
