"""Whether an Eval's fixtures, each a little worse, are worse together."""

from __future__ import annotations

from gateval.domain.plan.joint import Joint
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.grouping import Grouped, grades, outcomes
from gateval.domain.statistics.broad import Broad, broad_step, first
from gateval.domain.statistics.design import Step
from gateval.domain.statistics.graded.broad import graded_broad_step
from gateval.domain.trials.trial import Side


def broad_slippage(
    planned: PlannedEval, trials: Grouped, *, found: bool
) -> tuple[tuple[Joint, Broad | None], ...]:
    """Return what the newest look of each test of several fixtures says, None for nothing.

    `found` says that one of them has regressed by itself, so that the Eval blocks anyway.
    """
    tests = planned.joint_tests
    owners = planned.owners() if tests else {}
    return tuple((test, _newest(test, planned, owners, trials, found=found)) for test in tests)


def _newest(
    test: Joint, planned: PlannedEval, owners: dict[str, str], trials: Grouped, *, found: bool
) -> Broad | None:
    if planned.scoring.weighted:
        return _newest_of_scores(test, planned, owners, trials, found=found)
    said: Broad | None = None
    known = {one.fixture for one in planned.standing}
    sides = [
        tuple(
            outcomes(trials.get((owners[name], name, side), ())) for side in (Side.BASE, Side.HEAD)
        )
        for name in test.fixtures
        if name not in known
    ]
    for index, look in enumerate(test.looks):
        if any(len(base) < look.base or len(head) < look.head for base, head in sides):
            break
        strata = [first(look, base, head) for base, head in sides]
        said = broad_step(
            test.looks, index, strata, test.share, found=found, least_drop=test.least_drop
        ).model_copy(update={"family": test.family})
        if said.step is not Step.GO_ON:
            break
    return said


def _newest_of_scores(
    test: Joint, planned: PlannedEval, owners: dict[str, str], trials: Grouped, *, found: bool
) -> Broad | None:
    said: Broad | None = None
    known = {one.fixture for one in planned.standing}
    units = [
        (
            grades(trials.get((owners[name], name, Side.BASE), ())),
            grades(trials.get((owners[name], name, Side.HEAD), ())),
        )
        for name in test.fixtures
        if name not in known
    ]
    for index, look in enumerate(test.looks):
        if any(len(base) < look.base or len(head) < look.head for base, head in units):
            break
        said = graded_broad_step(
            test.looks, index, units, test.share, found=found, least_drop=test.least_drop
        ).model_copy(update={"family": test.family})
        if said.step is not Step.GO_ON:
            break
    return said
