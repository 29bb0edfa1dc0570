"""What the newest look at one axis of an Eval's scores says.

Candidates that are known to do the same each time need no statistics here either: an axis that is
lower has regressed, if a second trial of each fixture agrees on each side.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import NamedTuple

from gateval.domain.plan.joint import Joint
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.grouping import Grouped
from gateval.domain.results.looks.course import AGREEING, alike, has_real_judge
from gateval.domain.results.parts import axis_grades
from gateval.domain.statistics.broad import Broad
from gateval.domain.statistics.design import LookResult
from gateval.domain.statistics.graded.broad import Axis, axis_step
from gateval.domain.statistics.graded.grid import Scores
from gateval.domain.statistics.looks import Look
from gateval.domain.trials.trial import Side


class AxisUnit(NamedTuple):
    """One fixture of an axis: the scores of its trials on both sides, by repetition."""

    base: Scores
    head: Scores
    alike: bool


def axis_units(planned: PlannedEval, test: Joint, trials: Grouped) -> list[AxisUnit]:
    """Return the fixtures of a test of one axis, without those that stand as regressed."""
    owners, known = planned.owners(), {one.fixture for one in planned.standing}
    units = []
    for name in test.fixtures:
        if name not in known:
            fixture = planned.fixture(name)
            old, new = (trials.get((owners[name], name, s), ()) for s in (Side.BASE, Side.HEAD))
            base, head = (axis_grades(test.axis, fixture, side) for side in (old, new))
            same = not has_real_judge(planned, fixture) and alike(old) and alike(new)
            units.append(AxisUnit(base, head, same))
    return units


def axis_slippage(
    planned: PlannedEval, test: Joint, trials: Grouped, *, found: bool
) -> Broad | None:
    """Return what the newest look says, None before the first; `found`: something blocks anyway."""
    units = axis_units(planned, test, trials)
    if not units or not _has(units, test.looks[0]):
        return None
    if planned.deterministic and all(one.alike for one in units):
        return _exactly(test, units)
    axis = Axis(test.looks, test.share, test.least_drop)
    said: Broad | None = None
    scores = [(one.base, one.head) for one in units]
    for index, look in enumerate(test.looks):
        if not _has(units, look):
            break
        said = axis_step(axis, index, scores, found=found)
        if said.step is not LookResult.GO_ON:
            break
    return said.model_copy(update={"axis": test.axis}) if said else None


def _has(units: Sequence[AxisUnit], look: Look) -> bool:
    return all(len(one.base) >= look.base and len(one.head) >= look.head for one in units)


def _exactly(test: Joint, units: Sequence[AxisUnit]) -> Broad:
    base, head = (
        fsum(score or 0.0 for score in first) / len(units)
        for first in ([one.base[0] for one in units], [one.head[0] for one in units])
    )
    worse = base - head >= test.least_drop
    step = LookResult.REGRESSED if worse else LookResult.STOP
    if worse and not _has(units, Look(base=AGREEING, head=AGREEING)):
        step = LookResult.GO_ON
    p_value = 0.0 if step is LookResult.REGRESSED else 1.0
    return Broad(step=step, p_value=p_value, base=base, head=head, axis=test.axis, exact=True)
