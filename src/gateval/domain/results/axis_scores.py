"""Scores by axis: the mean of those assertions that measure the same quality.

An axis of a trial scores Σ score × weight / Σ weight over its assertions, as the trial does over
all. Assertions that name no axis have one together, `__default__`. An axis whose assertions weigh
nothing scores 0 there, and has no say in means over several trials.
"""

from __future__ import annotations

from collections.abc import Mapping

from gateval.domain.base import Value
from gateval.domain.manifests.axes import axis_of
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.results.trial_verdict import criterion_score, mean
from gateval.domain.trials.trial import Assessment, AssessmentStatus, Trial


class AxisScore(Value):
    """The score of one axis of one trial in [0, 1], None where it was not measured in full.

    `weight` is the sum of the weights of its assertions.
    """

    score: float | None
    weight: float


def axis_scores(fixture: Fixture, trial: Trial) -> Mapping[str, AxisScore]:
    """Return the scores of a trial by axis.

    Without an answer, by the candidate's own fault, each is 0.
    """
    pairs: dict[str, list[tuple[AssertionSpec, Assessment | None]]] = {}
    by_index = {one.index: one for one in trial.assessments}
    for index, spec in enumerate(fixture.assertions):
        pairs.setdefault(axis_of(spec), []).append((spec, by_index.get(index)))
    silent = not trial.assessments and trial.passed is False
    return {axis: _score(found, silent=silent) for axis, found in pairs.items()}


def _score(pairs: list[tuple[AssertionSpec, Assessment | None]], *, silent: bool) -> AxisScore:
    weight = sum(spec.weight for spec, _ in pairs)
    if silent:
        return AxisScore(score=0.0, weight=weight)
    counted: list[tuple[float, float]] = []
    for spec, one in pairs:
        if one is None or (one.counts and one.status is AssessmentStatus.ERROR):
            return AxisScore(score=None, weight=weight)
        if one.counts:
            counted.append((spec.weight, criterion_score(one)))
    if not counted:
        return AxisScore(score=None, weight=weight)
    return AxisScore(score=mean(counted), weight=weight)
