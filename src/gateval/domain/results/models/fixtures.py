"""The model `fixtures`: a trial passes when every assertion does.

One failed assertion makes a trial a `fail`, whatever else could not be evaluated: it could not have
passed.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.manifests.evaluation import ScoringSpec
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.results.models.verdict import TrialVerdict, unmeasured
from gateval.domain.results.scoring import trial_score
from gateval.domain.trials.trial import Assessment, AssessmentStatus, Outcome


def by_assertions(
    scoring: ScoringSpec, fixture: Fixture, assessments: Sequence[Assessment]
) -> TrialVerdict:
    """Return what the assessments make of a trial, by the model `fixtures`."""
    score = trial_score(fixture, assessments, scoring)
    for one in [one for one in assessments if one.counts] or assessments:
        if one.status is AssessmentStatus.FAILED:
            reason = f"{one.type}: {one.reason}"
            return TrialVerdict(Outcome.FAIL, one.cause, reason, score)
    return unmeasured(fixture, assessments) or TrialVerdict(Outcome.PASS, None, "", score)
