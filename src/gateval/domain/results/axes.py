"""How each axis of an Eval's scores moved: safety fell, correctness rose."""

from __future__ import annotations

from math import fsum

from gateval.domain.manifests.axes import weighed_axes
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.bar import Baseline
from gateval.domain.plan.joint import Joint
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.comparison import AxisComparison, FixtureChange
from gateval.domain.results.grouping import Grouped, unanswered
from gateval.domain.results.looks.axes import axis_units
from gateval.domain.results.parts import axis_grades, whole_mean
from gateval.domain.results.progress import Together
from gateval.domain.statistics.broad import LEAST_DROP, Broad
from gateval.domain.statistics.design import LookResult
from gateval.domain.statistics.graded.broad import axis_rose
from gateval.domain.statistics.graded.rule import ESCALATION
from gateval.domain.statistics.status import CLEAR
from gateval.domain.trials.trial import Side


def compare_axes(
    planned: PlannedEval, trials: Grouped, together: Together
) -> tuple[AxisComparison, ...]:
    """Return the axes of an Eval with scores, in the order of the plan; none of other Evals.

    `together` is what the tests of several fixtures say.
    """
    if not planned.scoring.graded:
        return ()
    tests = {test.axis: (test, said) for test, said in together if test.axis}
    shown = [one for one in planned.fixtures if not planned.in_quarantine(one.name)]
    silent = unanswered(planned, trials)
    found = []
    for axis, names in weighed_axes(shown).items():
        fixtures = [one for one in shown if one.name in set(names)]
        head, base = (
            [] if silent else _means(planned, axis, fixtures, trials, side)
            for side in (Side.HEAD, Side.BASE)
        )
        test, said = tests.get(axis, (None, None))
        found.append(
            AxisComparison(
                axis=axis,
                change=_change(planned, trials, test, said),
                head=_mean(head),
                base=_mean(base),
                fixtures=len(fixtures),
                measured=len(head),
                measured_base=len(base),
                said=said,
            )
        )
    return tuple(found)


def without_base(baseline: Baseline) -> FixtureChange:
    """Return how something moved of which base was not measured."""
    if baseline is Baseline.SAME_AGENT:
        return FixtureChange.UNCHANGED
    return FixtureChange.NEW if baseline is Baseline.NEW_AGENT else FixtureChange.NOT_COMPARED


def _means(
    planned: PlannedEval, axis: str, fixtures: list[Fixture], trials: Grouped, side: Side
) -> list[float]:
    """The mean scores on an axis of the fixtures of which all planned repetitions were measured."""
    reps, owners = planned.execution.reps_per_fixture, planned.owners()
    found: list[float | None] = []
    for fixture in fixtures:
        own = trials.get((owners[fixture.name], fixture.name, side), ())
        found.append(whole_mean(axis_grades(axis, fixture, own), reps))
    return [one for one in found if one is not None]


def _mean(scores: list[float]) -> float | None:
    return fsum(scores) / len(scores) if scores else None


def _change(
    planned: PlannedEval, trials: Grouped, test: Joint | None, said: Broad | None
) -> FixtureChange:
    if planned.baseline is not Baseline.MERGE_BASE:
        return without_base(planned.baseline)
    if test is None:  # the only axis is the whole, which has a test of its own
        return FixtureChange.NOT_COMPARED
    if said is None or said.step is LookResult.GO_ON:
        return FixtureChange.INCONCLUSIVE
    if said.step is LookResult.REGRESSED:
        return FixtureChange.REGRESSED
    moved = said.head - said.base
    if -moved >= test.least_drop and said.p_value <= ESCALATION:
        clear = said.p_value <= CLEAR
        return FixtureChange.SUSPECT if clear else FixtureChange.NOT_CONFIRMED
    if moved < LEAST_DROP:
        return FixtureChange.UNCHANGED
    look = test.looks[said.at]
    units = axis_units(planned, test, trials)
    scores = [(one.base[: look.base], one.head[: look.head]) for one in units]
    rose = said.exact or axis_rose(scores) <= CLEAR
    return FixtureChange.IMPROVED if rose else FixtureChange.UNCHANGED
