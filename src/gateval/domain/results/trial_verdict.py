"""What a trial's assessments make of it, by the Eval's scoring model.

One failed assertion makes a trial a `fail` in the model `fixtures`, whatever else could not be
evaluated: it could not have passed. In the model `weighted` the same holds of a required one, and
of a score that misses `passScore` even if all that could not be evaluated were perfect. Otherwise
an assertion that could not be evaluated makes the trial an `error`. What does not count makes
nothing, unless there is nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import NamedTuple

from gateval.domain.manifests.evaluation import ScoringSpec
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.results.scoring import TOLERANCE, trial_score
from gateval.domain.trials.trial import Assessment, AssessmentStatus, Cause, Outcome

_Pairs = Sequence[tuple[AssertionSpec, Assessment]]


class TrialVerdict(NamedTuple):
    """What comes of a trial. `score` in [0, 1] is None when something could not be measured."""

    outcome: Outcome
    cause: Cause | None
    reason: str
    score: float | None


def trial_verdict(
    scoring: ScoringSpec, fixture: Fixture, assessments: Sequence[Assessment]
) -> TrialVerdict:
    """Return what these assessments, one for each assertion of the fixture, make of a trial."""
    if scoring.weighted:
        return _weighted(scoring.pass_score, fixture, assessments)
    score = trial_score(fixture, assessments, scoring)
    failed = next((one for one in _counted(assessments) if _failed(one)), None)
    if failed is not None:
        reason = f"{failed.type}: {failed.reason}"
        return TrialVerdict(Outcome.FAIL, failed.cause, reason, score)
    return _unmeasured(fixture, assessments) or TrialVerdict(Outcome.PASS, None, "", score)


def _weighted(
    pass_score: float, fixture: Fixture, assessments: Sequence[Assessment]
) -> TrialVerdict:
    """The score is Σ weight × score / Σ weight of what counts; 0 where nothing has weight.

    A required assertion that failed, or one that failed for a required part of it, makes it 0.
    """
    counted = [
        (spec, one)
        for spec, one in zip(fixture.assertions, assessments, strict=False)
        if one.counts
    ]
    broken = next(((spec, one) for spec, one in counted if _fails_all(spec, one)), None)
    if broken is not None:
        reason = f"{_called(broken[0])} is required: {broken[1].reason}"
        return TrialVerdict(Outcome.FAIL, None, reason, 0.0)
    unmeasured = _unmeasured(fixture, assessments)
    weighed = any(spec.weight for spec, _ in counted) or len(counted) == len(assessments)
    if len(assessments) != len(fixture.assertions) or not counted or not weighed:
        return unmeasured or _nothing_counts(assessments)
    best = _mean([(spec.weight, _at_best(one)) for spec, one in counted])
    score = None if unmeasured else best
    if best < pass_score - TOLERANCE:
        named = f"{best:.3g}" if unmeasured is None else f"at most {best:.3g}"
        reason = f"scores {named}, below {pass_score:g}: {_worst(counted)}"
        return TrialVerdict(Outcome.FAIL, None, reason, score)
    return unmeasured or TrialVerdict(Outcome.PASS, None, "", score)


def _counted(assessments: Sequence[Assessment]) -> Sequence[Assessment]:
    """What counts; all of it if nothing does."""
    return [one for one in assessments if one.counts] or assessments


def _unmeasured(fixture: Fixture, assessments: Sequence[Assessment]) -> TrialVerdict | None:
    """Return the error that a trial is if nothing speaks against it; None if all is measured."""
    for one in _counted(assessments):
        if one.status is AssessmentStatus.ERROR:
            return TrialVerdict(Outcome.ERROR, one.cause, f"{one.type}: {one.reason}", None)
    missing = len(fixture.assertions) - len(assessments)
    if not missing:
        return None
    reason = f"{missing} assertions were not evaluated"
    return TrialVerdict(Outcome.ERROR, Cause.GATE, reason, None)


def _nothing_counts(assessments: Sequence[Assessment]) -> TrialVerdict:
    one = next(one for one in assessments if not one.counts)
    reason = f"nothing else has weight, and {one.type}: {one.reason}"
    return TrialVerdict(Outcome.ERROR, one.cause, reason, None)


def _failed(one: Assessment) -> bool:
    return one.status is AssessmentStatus.FAILED


def _fails_all(spec: AssertionSpec, one: Assessment) -> bool:
    return one.fatal or (spec.required and _failed(one))


def _at_best(one: Assessment) -> float:
    return 1.0 if one.status is AssessmentStatus.ERROR else one.score or 0.0


def _mean(pairs: Sequence[tuple[float, float]]) -> float:
    total = fsum(weight for weight, _ in pairs)
    return min(1.0, fsum(weight * score for weight, score in pairs) / total) if total else 0.0


def _worst(pairs: _Pairs) -> str:
    """Say what costs the most."""
    spec, one = max(pairs, key=lambda pair: pair[0].weight * (1 - _at_best(pair[1])))
    return f"{_called(spec)}: {one.reason}"


def _called(spec: AssertionSpec) -> str:
    return spec.name or spec.type
