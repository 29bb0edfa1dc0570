"""What a trial's assessments make of it, by the scoring model of its Eval.

An assertion that could not be evaluated makes a trial an `error`, unless it fails anyway: one
failed assertion where all have to pass, or a score that misses `passScore` even if all that could
not be evaluated were perfect. What does not count makes nothing, unless there is nothing else. What
was not measured is no score.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import NamedTuple, TypeAlias

from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.manifests.scoring import TOLERANCE, ScoringSpec
from gateval.domain.trials.trial import Assessment, Cause, NotAssessed, Outcome

Pairs: TypeAlias = Sequence[tuple[AssertionSpec, Assessment]]
"""Assertions, each with what came of it."""


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
    lost = _unmeasured(fixture, assessments)
    if not scoring.graded:
        return _every(scoring, fixture, assessments, lost)
    pairs = zip(fixture.assertions, assessments, strict=False)
    counts = [(spec, one) for spec, one in pairs if one.counts]
    broken = (f"{_called(s)} is required: {one.reason}" for s, one in counts if _fails_all(s, one))
    if scoring.model.required and (why := next(broken, None)) is not None:
        return TrialVerdict(Outcome.FAIL, None, why, 0.0)
    if _says_too_little(fixture, assessments, counts):
        return lost or _nothing_counts(assessments)
    scored = [(spec, one, criterion_score(one)) for spec, one in counts]
    best = mean([(spec.weight, score) for spec, _, score in scored])
    if best >= scoring.pass_score - TOLERANCE:
        return lost or TrialVerdict(Outcome.PASS, None, "", best)
    return TrialVerdict(
        Outcome.FAIL, None, _missed(scoring, scored, best, lost), None if lost else best
    )


def _every(
    scoring: ScoringSpec,
    fixture: Fixture,
    assessments: Sequence[Assessment],
    lost: TrialVerdict | None,
) -> TrialVerdict:
    """A trial passes when every assertion does."""
    score = trial_score(fixture, assessments, scoring)
    for one in [one for one in assessments if one.counts] or assessments:
        if one.failed:
            return TrialVerdict(Outcome.FAIL, one.cause, f"{one.type}: {one.reason}", score)
    return lost or TrialVerdict(Outcome.PASS, None, "", score)


def trial_score(
    fixture: Fixture, assessments: Sequence[Assessment], scoring: ScoringSpec
) -> float | None:
    """Return Σ weight × severity weight of passed assertions over Σ of all, in [0, 1].

    Severities weigh as the Eval says. Where all weights are 0, the assertions count equally. None
    when an assessment is missing or an error: what was not measured has no score. What does not
    count is left out; if nothing else is there, there is no score.
    """
    if len(assessments) != len(fixture.assertions):
        return None
    counted = [
        (spec.weight * scoring.weight(spec.severity or fixture.severity), assessment)
        for spec, assessment in zip(fixture.assertions, assessments, strict=True)
        if assessment.counts
    ]
    if not counted or any(isinstance(one, NotAssessed) for _, one in counted):
        return None
    if not any(weight for weight, _ in counted):
        counted = [(1.0, one) for _, one in counted]
    passed = sum(weight for weight, one in counted if one.passed)
    return min(1.0, passed / sum(weight for weight, _ in counted))


def mean(pairs: Sequence[tuple[float, float]]) -> float:
    """Return Σ weight × score / Σ weight in [0, 1], 0 where nothing has weight."""
    total = fsum(weight for weight, _ in pairs)
    return min(1.0, fsum(weight * score for weight, score in pairs) / total) if total else 0.0


def criterion_score(one: Assessment) -> float:
    """Return what a criterion scores in [0, 1]: 1 at best, where it could not be evaluated.

    0 where a part of it failed that it requires.
    """
    if one.fatal:
        return 0.0
    return 1.0 if isinstance(one, NotAssessed) else one.score


def _missed(
    scoring: ScoringSpec,
    scored: Sequence[tuple[AssertionSpec, Assessment, float]],
    best: float,
    lost: TrialVerdict | None,
) -> str:
    """Say what a trial scores, at best if something was `lost`, and what costs the most."""
    model = scoring.model
    spec, one, _ = max(scored, key=lambda each: each[0].weight * (1 - each[2]))
    why = f"{_called(spec)}: {one.reason}"
    if model.weightless and not any(spec.weight for spec, _, _ in scored):
        why = model.weightless
        if model.grades:
            return why
    if not model.grades:
        at_most = "at most " if lost else ""
        return f"scores {at_most}{best:.3g}, below {scoring.pass_score:g}: {why}"
    word = "scores at most" if lost else f"{model.called(best)}, scores"
    return f"{word} {best:.3g}: {why}"


def _fails_all(spec: AssertionSpec, one: Assessment) -> bool:
    return one.fatal or (spec.required and one.failed)


def _unmeasured(fixture: Fixture, assessments: Sequence[Assessment]) -> TrialVerdict | None:
    """Return the error that a trial is if nothing speaks against it; None if all is measured."""
    for one in [one for one in assessments if one.counts] or assessments:
        if isinstance(one, NotAssessed):
            return TrialVerdict(Outcome.ERROR, one.cause, f"{one.type}: {one.reason}", None)
    missing = len(fixture.assertions) - len(assessments)
    if not missing:
        return None
    reason = f"{missing} assertions were not evaluated"
    return TrialVerdict(Outcome.ERROR, Cause.GATE, reason, None)


def _says_too_little(fixture: Fixture, assessments: Sequence[Assessment], counts: Pairs) -> bool:
    """Whether no mean can be made: assessments are missing, or only what counts nothing has
    weight.
    """
    weighed = any(spec.weight for spec, _ in counts) or len(counts) == len(assessments)
    return len(assessments) != len(fixture.assertions) or not counts or not weighed


def _nothing_counts(assessments: Sequence[Assessment]) -> TrialVerdict:
    """Return the error that a trial is of which nothing counts."""
    one = next(one for one in assessments if not one.counts)
    reason = f"nothing else has weight, and {one.type}: {one.reason}"
    return TrialVerdict(Outcome.ERROR, one.cause, reason, None)


def _called(spec: AssertionSpec) -> str:
    return spec.name or spec.type
