"""Whether an Eval's fixtures, each a little worse, are worse together."""

from __future__ import annotations

from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.grouping import Grouped, outcomes
from gateval.domain.statistics.broad import Broad, broad_step, first
from gateval.domain.statistics.design import Step
from gateval.domain.trials.trial import Side


def broad_slippage(planned: PlannedEval, trials: Grouped, *, found: bool) -> Broad | None:
    """Return what the newest look at all compared fixtures says; None where it says nothing.

    `found` says that one of them has regressed by itself, so that the Eval blocks anyway.
    """
    said: Broad | None = None
    looks = planned.broad_looks
    owners = planned.owners() if looks else {}
    sides = [
        tuple(
            outcomes(trials.get((owners[name], name, side), ())) for side in (Side.BASE, Side.HEAD)
        )
        for name in planned.compared
        if looks and planned.stands(name) is None
    ]
    for index, look in enumerate(looks):
        if any(len(base) < look.base or len(head) < look.head for base, head in sides):
            break
        strata = [first(look, base, head) for base, head in sides]
        said = broad_step(looks, index, strata, planned.broad_share, found=found)
        if said.step is not Step.GO_ON:
            break
    return said
