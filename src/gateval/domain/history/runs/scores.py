"""The scores that a record keeps of benchmarks and experiments: by task, axis and criterion."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from gateval.domain.base import Value
from gateval.domain.manifests.axes import weighed_axes
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.comparison import AxisComparison, EvalComparison
from gateval.domain.results.parts import axis_grades, by_criterion, grades, whole_mean
from gateval.domain.text.bounded import ShortText
from gateval.domain.trials.trial import Side, Trial

NAMED_TASKS = 200
"""Tasks up to which a record names the criteria of each."""

CRITERIA = 50
"""Criteria of one task that a record names."""


class RunScore(Value):
    """A mean score in [0, 1] and what it is of; None where it was not measured in full."""

    name: ShortText
    score: float | None = Field(default=None, ge=0, le=1)


def task_score(planned: PlannedEval, trials: Sequence[Trial]) -> float | None:
    """Return the mean score of the planned repetitions, None if one has none, or no scores."""
    if not planned.scoring.graded:
        return None
    return _mean(grades(trials), planned.execution.reps_per_fixture)


def axes_of_task(
    planned: PlannedEval, fixture: Fixture, trials: Sequence[Trial]
) -> tuple[RunScore, ...]:
    """Return the scores of a task by axis."""
    if not planned.scoring.graded:
        return ()
    many = planned.execution.reps_per_fixture
    return tuple(
        RunScore(name=axis, score=_mean(axis_grades(axis, fixture, trials), many))
        for axis in weighed_axes([fixture])
    )


def criteria_of_task(
    planned: PlannedEval, fixture: Fixture, trials: Sequence[Trial]
) -> tuple[RunScore, ...]:
    """Return the scores of a task's criteria by label, of a benchmark or experiment."""
    if not planned.scoring.model.named or len(planned.fixtures) > NAMED_TASKS:
        return ()
    many = planned.execution.reps_per_fixture
    first = [one for one in trials if one.key.repetition <= many]
    return tuple(
        RunScore(name=spec.name or spec.type, score=_mean(by_criterion(first, at), many))
        for at, spec in enumerate(fixture.assertions[:CRITERIA])
    )


def axes_of_run(compared: EvalComparison, side: Side = Side.HEAD) -> tuple[RunScore, ...]:
    """Return the scores of a run by axis, those that were measured in all its tasks."""

    def _score(one: AxisComparison) -> float | None:
        on_head = one.head, one.measured
        found, measured = on_head if side is Side.HEAD else (one.base, one.measured_base)
        return None if found is None or measured < one.fixtures else round(found, 6)

    return tuple(RunScore(name=one.axis, score=_score(one)) for one in compared.axes)


def _mean(scores: Sequence[float | None], many: int) -> float | None:
    mean = whole_mean(scores, many)
    return None if mean is None else round(mean, 6)
