"""What a trial scores as a whole, on an axis and by one criterion, and what stands there instead.

A trial that was measured says itself what it scores. What stands for all others is told by one
table, `STANDS_FOR`, to which a test holds scores, tests, axes and averages, cell by cell: silence
is the candidate's doing and scores 0, whatever it is asked for; what nobody measured is no score,
and never one that helps to find a regression.

An axis of a trial scores Σ score × weight / Σ weight over its assertions, as the trial does over
all. Assertions that name no axis have one together, `__default__`. An axis whose assertions weigh
nothing scores 0 there, and has no say in means over several trials.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from math import fsum
from types import MappingProxyType
from typing import Final

from gateval.domain.base import Value
from gateval.domain.manifests.axes import axis_of
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.results.trial_verdict import criterion_score, mean
from gateval.domain.statistics.graded.grid import Scores
from gateval.domain.trials.trial import Assessment, NotAssessed, Trial


class State(StrEnum):
    """What became of a planned trial, or of one criterion in it, that has no score of its own.

    `silent`: the candidate gave no answer. `lost`: gate, provider, judge or check could not measure
    it. `missing`: it never ran. `uncounted`: a judge said something, and its word does not count.
    """

    SILENT = "silent"
    LOST = "lost"
    MISSING = "missing"
    UNCOUNTED = "uncounted"


class Use(StrEnum):
    """What a trial is asked for: the score of its fixture, the tests of head against base, an axis,
    a scorer's average.
    """

    SCORE = "score"
    HEAD = "test of head"
    BASE = "test of base"
    AXIS = "axis"
    SCORER = "scorer"


class StandIn(StrEnum):
    """What stands for a score: 0, both ends of the interval, the end that finds no regression,
    nothing at all (the mean is unknown, the test waits), or the rest without it.
    """

    ZERO = "0"
    BOTH_ENDS = "0 and 1"
    HARMLESS = "1 on head, 0 on base"
    UNKNOWN = "unknown"
    LEFT_OUT = "left out"


STANDS_FOR: Final[Mapping[State, Mapping[Use, StandIn]]] = MappingProxyType(
    {
        State.SILENT: dict.fromkeys(Use, StandIn.ZERO),
        State.LOST: {
            Use.SCORE: StandIn.BOTH_ENDS,
            Use.HEAD: StandIn.HARMLESS,
            Use.BASE: StandIn.HARMLESS,
            Use.AXIS: StandIn.UNKNOWN,
            Use.SCORER: StandIn.UNKNOWN,
        },
        State.MISSING: {
            Use.SCORE: StandIn.BOTH_ENDS,
            Use.HEAD: StandIn.UNKNOWN,
            Use.BASE: StandIn.UNKNOWN,
            Use.AXIS: StandIn.UNKNOWN,
            Use.SCORER: StandIn.UNKNOWN,
        },
        State.UNCOUNTED: {
            **dict.fromkeys(Use, StandIn.LEFT_OUT),
            Use.SCORER: StandIn.UNKNOWN,
        },
    }
)
"""What stands for the score of a trial that has none. Where a criterion is left out and nothing
else is there, the trial is lost.
"""


def grade(trial: Trial) -> float | None:
    """Return the score of a trial in [0, 1], 0 of a silent one; None where it has none."""
    return 0.0 if trial.score is None and _is_silent(trial) else trial.score


def unbroken(trials: Iterable[Trial]) -> list[Trial]:
    """Return a side's trials by repetition, as far as none is missing."""
    by_number = {trial.key.repetition: trial for trial in trials}
    found: list[Trial] = []
    while (trial := by_number.get(len(found) + 1)) is not None:
        found.append(trial)
    return found


def grades(trials: Sequence[Trial]) -> Scores:
    """Return the scores of a side's trials as far as no repetition is missing."""
    return [grade(trial) for trial in unbroken(trials)]


def _is_silent(trial: Trial) -> bool:
    """Whether the candidate gave nothing that could be assessed, by its own fault."""
    return not trial.assessments and trial.passed is False


def by_criterion(trials: Iterable[Trial], index: int) -> list[float | None]:
    """Return what the assertion at this position scores in each trial, None where unknown."""
    return [_criterion(trial, index) for trial in trials]


def _criterion(trial: Trial, index: int) -> float | None:
    if _is_silent(trial):
        return 0.0
    found = next((one for one in trial.assessments if one.index == index), None)
    if found is None or isinstance(found, NotAssessed) or not found.counts:
        return None
    return criterion_score(found)


class AxisScore(Value):
    """The score of one axis of one trial in [0, 1], None where it was not measured in full.

    `weight` is the sum of the weights of its assertions.
    """

    score: float | None
    weight: float


def axis_scores(fixture: Fixture, trial: Trial) -> Mapping[str, AxisScore]:
    """Return the scores of a trial by axis; of a silent one each is 0."""
    pairs: dict[str, list[tuple[AssertionSpec, Assessment | None]]] = {}
    by_index = {one.index: one for one in trial.assessments}
    for index, spec in enumerate(fixture.assertions):
        pairs.setdefault(axis_of(spec), []).append((spec, by_index.get(index)))
    silent = _is_silent(trial)
    return {axis: _axis_score(found, silent=silent) for axis, found in pairs.items()}


def axis_grades(axis: str, fixture: Fixture, trials: Iterable[Trial]) -> list[float | None]:
    """Return a fixture's scores on an axis as far as no repetition is missing."""
    scores = [axis_scores(fixture, trial).get(axis) for trial in unbroken(trials)]
    return [score.score if score else None for score in scores]


def whole_mean(scores: Sequence[float | None], many: int) -> float | None:
    """Return the mean of the first `many` scores; None unless all of them are known."""
    known = [one for one in scores[:many] if one is not None]
    return fsum(known) / many if len(known) == many else None


def _axis_score(pairs: list[tuple[AssertionSpec, Assessment | None]], *, silent: bool) -> AxisScore:
    weight = sum(spec.weight for spec, _ in pairs)
    if silent:
        return AxisScore(score=0.0, weight=weight)
    counted: list[tuple[float, float]] = []
    for spec, one in pairs:
        if one is None or (one.counts and isinstance(one, NotAssessed)):
            return AxisScore(score=None, weight=weight)
        if one.counts:
            counted.append((spec.weight, criterion_score(one)))
    return AxisScore(score=mean(counted) if counted else None, weight=weight)
