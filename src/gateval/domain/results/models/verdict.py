"""What a scoring model says of a trial, and what all models share: counting, and not measuring."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import NamedTuple, TypeAlias

from gateval.domain.manifests.evaluation import ScoringSpec
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.results.scoring import TOLERANCE
from gateval.domain.trials.trial import Assessment, AssessmentStatus, Cause, Outcome

Pairs: TypeAlias = Sequence[tuple[AssertionSpec, Assessment]]
"""Assertions, each with what came of it."""


class TrialVerdict(NamedTuple):
    """What comes of a trial. `score` in [0, 1] is None when something could not be measured."""

    outcome: Outcome
    cause: Cause | None
    reason: str
    score: float | None


def counted(fixture: Fixture, assessments: Sequence[Assessment]) -> Pairs:
    """Return what counts, each with its assertion."""
    pairs = zip(fixture.assertions, assessments, strict=False)
    return [(spec, one) for spec, one in pairs if one.counts]


def unmeasured(fixture: Fixture, assessments: Sequence[Assessment]) -> TrialVerdict | None:
    """Return the error that a trial is if nothing speaks against it; None if all is measured."""
    for one in [one for one in assessments if one.counts] or assessments:
        if one.status is AssessmentStatus.ERROR:
            return TrialVerdict(Outcome.ERROR, one.cause, f"{one.type}: {one.reason}", None)
    missing = len(fixture.assertions) - len(assessments)
    if not missing:
        return None
    reason = f"{missing} assertions were not evaluated"
    return TrialVerdict(Outcome.ERROR, Cause.GATE, reason, None)


def says_too_little(fixture: Fixture, assessments: Sequence[Assessment], counts: Pairs) -> bool:
    """Whether no mean can be made: assessments are missing, or only what counts nothing has weight.

    `counts` is what `counted` gives.
    """
    weighed = any(spec.weight for spec, _ in counts) or len(counts) == len(assessments)
    return len(assessments) != len(fixture.assertions) or not counts or not weighed


def nothing_counts(assessments: Sequence[Assessment]) -> TrialVerdict:
    """Return the error that a trial is of which nothing counts."""
    one = next(one for one in assessments if not one.counts)
    reason = f"nothing else has weight, and {one.type}: {one.reason}"
    return TrialVerdict(Outcome.ERROR, one.cause, reason, None)


def by_mean(
    scoring: ScoringSpec,
    fixture: Fixture,
    assessments: Sequence[Assessment],
    counts: Pairs,
    weightless: str = "",
) -> TrialVerdict:
    """Return what the mean of what counts makes of a trial, which passes from `passScore` on.

    A score that misses it even if all that could not be evaluated were perfect is a `fail`.
    `weightless` is the reason where nothing that counts has weight, if there is one for that.
    """
    lost = unmeasured(fixture, assessments)
    if says_too_little(fixture, assessments, counts):
        return lost or nothing_counts(assessments)
    best = mean([(spec.weight, at_best(one)) for spec, one in counts])
    score = None if lost else best
    if best < scoring.pass_score - TOLERANCE:
        named = f"{best:.3g}" if lost is None else f"at most {best:.3g}"
        weighty = any(spec.weight for spec, _ in counts)
        why = worst(counts) if weighty or not weightless else weightless
        reason = f"scores {named}, below {scoring.pass_score:g}: {why}"
        return TrialVerdict(Outcome.FAIL, None, reason, score)
    return lost or TrialVerdict(Outcome.PASS, None, "", score)


def mean(pairs: Sequence[tuple[float, float]]) -> float:
    """Return Σ weight × score / Σ weight in [0, 1], 0 where nothing has weight."""
    total = fsum(weight for weight, _ in pairs)
    return min(1.0, fsum(weight * score for weight, score in pairs) / total) if total else 0.0


def at_best(one: Assessment) -> float:
    """Return the highest score that an assertion can have: 1 where it could not be evaluated."""
    return 1.0 if one.status is AssessmentStatus.ERROR else one.score or 0.0


def criterion_score(one: Assessment) -> float:
    """Return what a criterion scores in [0, 1]: 1 at best, where it could not be evaluated.

    0 where a part of it failed that it requires.
    """
    return 0.0 if one.fatal else at_best(one)


def worst(pairs: Pairs) -> str:
    """Say what costs the most."""
    spec, one = max(pairs, key=lambda pair: pair[0].weight * (1 - at_best(pair[1])))
    return f"{called(spec)}: {one.reason}"


def called(spec: AssertionSpec) -> str:
    """Return what an assertion is called."""
    return spec.name or spec.type
