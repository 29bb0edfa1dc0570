"""The model `weighted`, which is AgentV's: a trial scores the weighted mean of its assertions.

The score is Σ weight × score / Σ weight of what counts; 0 where nothing has weight. A required
assertion that failed, or one that failed for a required part of it, makes it 0. A score that misses
`passScore` even if all that could not be evaluated were perfect is a `fail`.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.manifests.evaluation import ScoringSpec
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.results.models.verdict import (
    TrialVerdict,
    at_best,
    called,
    counted,
    mean,
    nothing_counts,
    says_too_little,
    unmeasured,
    worst,
)
from gateval.domain.results.scoring import TOLERANCE
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
    lost = unmeasured(fixture, assessments)
    if says_too_little(fixture, assessments, counts):
        return lost or nothing_counts(assessments)
    best = mean([(spec.weight, at_best(one)) for spec, one in counts])
    score = None if lost else best
    if best < scoring.pass_score - TOLERANCE:
        named = f"{best:.3g}" if lost is None else f"at most {best:.3g}"
        weighty = any(spec.weight for spec, _ in counts)
        why = worst(counts) if weighty else "nothing that was looked at has weight."
        reason = f"scores {named}, below {scoring.pass_score:g}: {why}"
        return TrialVerdict(Outcome.FAIL, None, reason, score)
    return lost or TrialVerdict(Outcome.PASS, None, "", score)


def _fails_all(spec: AssertionSpec, one: Assessment) -> bool:
    return one.fatal or (spec.required and one.status is AssessmentStatus.FAILED)
