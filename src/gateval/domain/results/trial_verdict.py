"""What a trial's assessments make of it, by the Eval's scoring model.

One failed assertion makes a trial a `fail` in the model `fixtures`, whatever else could not be
evaluated: it could not have passed. In the model `weighted` the same holds of a required one, and
of a score that misses `passScore` even if all that could not be evaluated were perfect. Otherwise
an assertion that could not be evaluated makes the trial an `error`. What does not count, the word
of a judge that is not calibrated, makes nothing, unless there is nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum
from typing import NamedTuple

from gateval.domain.manifests.evaluation import ScoringSpec
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.results.scoring import TOLERANCE, trial_score
from gateval.domain.trials.trial import Assessment, AssessmentStatus, Cause, Outcome


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
    outcome, cause, reason = _every_one(fixture, assessments)
    return TrialVerdict(outcome, cause, reason, trial_score(fixture, assessments, scoring))


def weighted_score(fixture: Fixture, assessments: Sequence[Assessment]) -> float | None:
    """Return Σ weight × score / Σ weight of what counts, in [0, 1]; 0 where nothing has weight.

    A required assertion that failed, or one that failed for a required part of it, makes it 0. None
    where something could not be measured.
    """
    pairs = _counted(fixture, assessments)
    if any(_fails_all(spec, one) for spec, one in pairs):
        return 0.0
    if len(assessments) != len(fixture.assertions) or _with_error(one for _, one in pairs):
        return None
    return _mean([(spec.weight, one.score or 0.0) for spec, one in pairs])


def _counted(
    fixture: Fixture, assessments: Sequence[Assessment]
) -> list[tuple[AssertionSpec, Assessment]]:
    """Pair assertions with their assessments, without what does not count unless all do not."""
    pairs = list(zip(fixture.assertions, assessments, strict=False))
    return [pair for pair in pairs if pair[1].counts] or pairs


def _weighted(
    pass_score: float, fixture: Fixture, assessments: Sequence[Assessment]
) -> TrialVerdict:
    pairs = _counted(fixture, assessments)
    score = weighted_score(fixture, assessments)
    broken = next(((spec, one) for spec, one in pairs if _fails_all(spec, one)), None)
    if broken is not None:
        spec, one = broken
        reason = f"{_called(spec)} is required: {one.reason}"
        return TrialVerdict(Outcome.FAIL, None, reason, score)
    best = _mean([(spec.weight, _at_best(one)) for spec, one in pairs])
    complete = len(assessments) == len(fixture.assertions)
    if complete and best < pass_score - TOLERANCE:
        named = f"{best:.3g}" if score is not None else f"at most {best:.3g}"
        reason = f"scores {named}, below {pass_score:g}: {_worst(pairs)}"
        return TrialVerdict(Outcome.FAIL, None, reason, score)
    if score is None:
        _, cause, reason = _unmeasured(fixture, assessments)
        return TrialVerdict(Outcome.ERROR, cause, reason, None)
    return TrialVerdict(Outcome.PASS, None, "", score)


def _every_one(
    fixture: Fixture, assessments: Sequence[Assessment]
) -> tuple[Outcome, Cause | None, str]:
    counted = [one for _, one in _counted(fixture, assessments)]
    for assessment in counted:
        if assessment.status is AssessmentStatus.FAILED:
            return Outcome.FAIL, assessment.cause, f"{assessment.type}: {assessment.reason}"
    if _with_error(counted) or len(assessments) != len(fixture.assertions):
        return _unmeasured(fixture, assessments)
    return Outcome.PASS, None, ""


def _unmeasured(
    fixture: Fixture, assessments: Sequence[Assessment]
) -> tuple[Outcome, Cause | None, str]:
    for one in _with_error(one for _, one in _counted(fixture, assessments)):
        return Outcome.ERROR, one.cause, f"{one.type}: {one.reason}"
    missing = len(fixture.assertions) - len(assessments)
    return Outcome.ERROR, Cause.GATE, f"{missing} assertions were not evaluated"


def _with_error(assessments: Iterable[Assessment]) -> list[Assessment]:
    return [one for one in assessments if one.status is AssessmentStatus.ERROR]


def _fails_all(spec: AssertionSpec, one: Assessment) -> bool:
    return one.fatal or (spec.required and one.status is AssessmentStatus.FAILED)


def _at_best(one: Assessment) -> float:
    return 1.0 if one.status is AssessmentStatus.ERROR else one.score or 0.0


def _mean(pairs: Sequence[tuple[float, float]]) -> float:
    total = fsum(weight for weight, _ in pairs)
    return min(1.0, fsum(weight * score for weight, score in pairs) / total) if total else 0.0


def _worst(pairs: Sequence[tuple[AssertionSpec, Assessment]]) -> str:
    """Say what costs the most."""
    if not pairs:
        return "nothing was asserted"
    spec, one = max(pairs, key=lambda pair: pair[0].weight * (1 - _at_best(pair[1])))
    return f"{_called(spec)}: {one.reason}"


def _called(spec: AssertionSpec) -> str:
    return spec.name or spec.type
