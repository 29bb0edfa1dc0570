"""How often the assertions of each axis passed, over all Evals: what a report groups by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from gateval.domain.results.averages import EXPERIMENT
from gateval.domain.trials.trial import AssessmentStatus, Side
from gateval.render.report.facts import FixtureFacts


class AxisShare(NamedTuple):
    """The assertions of one axis in the planned repetitions: passed, and measured, on each side."""

    axis: str
    head: tuple[int, int]
    base: tuple[int, int]

    @property
    def sides(self) -> tuple[str, str]:
        """Both as text, head first: `3 of 4`, or a dash where nothing was measured."""
        head, base = (
            f"{passed:,} of {measured:,}" if measured else "\N{EN DASH}"
            for passed, measured in (self.head, self.base)
        )
        return head, base

    def __str__(self) -> str:
        head, base = self.sides
        return f"{self.axis}: {head} assertions passed on head, {base} on base"


def by_axis(facts: Iterable[FixtureFacts]) -> tuple[AxisShare, ...]:
    """Return the axes that assertions name, in the order of the plan."""
    passed: Counter[tuple[str, Side]] = Counter()
    measured: Counter[tuple[str, Side]] = Counter()
    axes: dict[str, None] = {}
    for fact in facts:
        if fact.planned.kind == EXPERIMENT:  # whose scorers have averages
            continue
        specs = fact.fixture.assertions
        axes.update({spec.axis: None for spec in specs if spec.axis})
        planned = fact.planned.execution.reps_per_fixture
        trials = [one for one in (*fact.head, *fact.base) if one.key.repetition <= planned]
        for trial in trials:
            for one in trial.assessments:
                axis = specs[one.index].axis if one.index < len(specs) else None
                if axis and one.status is not AssessmentStatus.ERROR:
                    measured[axis, trial.key.side] += 1
                    passed[axis, trial.key.side] += one.status is AssessmentStatus.PASSED
    return tuple(
        AxisShare(
            axis,
            (passed[axis, Side.HEAD], measured[axis, Side.HEAD]),
            (passed[axis, Side.BASE], measured[axis, Side.BASE]),
        )
        for axis in axes
    )
