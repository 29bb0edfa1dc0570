"""The model `weighted`, which is AgentV's: a trial scores the weighted mean of its assertions.

The score is Σ weight × score / Σ weight of what counts; 0 where nothing has weight. A required
assertion that failed, or one that failed for a required part of it, makes it 0. A score that misses
`passScore` even if all that could not be evaluated were perfect is a `fail`.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.manifests.evaluation import ScoringSpec
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.results.models.verdict import TrialVerdict, by_mean, called, counted
from gateval.domain.trials.trial import Assessment, AssessmentStatus, Outcome


def by_weight(
    scoring: ScoringSpec, fixture: Fixture, assessments: Sequence[Assessment]
) -> TrialVerdict:
    """Return what the assessments make of a trial, by the model `weighted`."""
    counts = counted(fixture, assessments)
    broken = next(((spec, one) for spec, one in counts if _fails_all(spec, one)), None)
    if broken is not None:
        reason = f"{called(broken[0])} is required: {broken[1].reason}"
        return TrialVerdict(Outcome.FAIL, None, reason, 0.0)
    weightless = "nothing that was looked at has weight."
    return by_mean(scoring, fixture, assessments, counts, weightless)


def _fails_all(spec: AssertionSpec, one: Assessment) -> bool:
    return one.fatal or (spec.required and one.status is AssessmentStatus.FAILED)
