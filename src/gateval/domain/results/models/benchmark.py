"""The model `benchmark`: tasks, criteria with weights and axes, and three verdicts.

The document is Verial's page on benchmark runs. A criterion scores in [0, 1]; a task scores
Σ score × weight / Σ weight over its criteria, and so does each axis over those that share it; a run
scores the mean of its tasks, all alike. From 0.9 on that is `pass`, above 0 `partial`, else `fail`.
A task without criteria, or whose criteria weigh nothing, scores 0 and fails; so does one without an
answer in time.

Stricter than that page: a criterion that could not be evaluated makes the task an error, unless it
would miss the mark even if that criterion were perfect. What was not measured is no score.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from gateval.domain.manifests.evaluation import SCORE_FROM, ScoringSpec
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.results.models.verdict import (
    TrialVerdict,
    called,
    counted,
    criterion_score,
    mean,
    nothing_counts,
    says_too_little,
    unmeasured,
)
from gateval.domain.results.scoring import TOLERANCE
from gateval.domain.trials.trial import Assessment, Outcome

_WEIGHTLESS = "fail, scores 0: none of its criteria has weight, whatever they say."


class BenchmarkVerdict(StrEnum):
    """What a score is called, of a task or a run."""

    PASS = "pass"  # noqa: S105 - not a password
    PARTIAL = "partial"
    FAIL = "fail"


def benchmark_verdict(score: float) -> BenchmarkVerdict:
    """Return what a score in [0, 1] is called; 0.9 is met within `TOLERANCE`."""
    if score >= SCORE_FROM - TOLERANCE:
        return BenchmarkVerdict.PASS
    return BenchmarkVerdict.PARTIAL if score > 0 else BenchmarkVerdict.FAIL


def by_criteria(
    scoring: ScoringSpec, fixture: Fixture, assessments: Sequence[Assessment]
) -> TrialVerdict:
    """Return what the assessments make of one run of a task, by the model `benchmark`."""
    lost = unmeasured(fixture, assessments)
    counts = counted(fixture, assessments)
    if says_too_little(fixture, assessments, counts):
        return lost or nothing_counts(assessments)
    best = mean([(spec.weight, criterion_score(one)) for spec, one in counts])
    score = None if lost else best
    if best >= scoring.pass_score - TOLERANCE:
        return lost or TrialVerdict(Outcome.PASS, None, "", score)
    if not any(spec.weight for spec, _ in counts):
        return TrialVerdict(Outcome.FAIL, None, _WEIGHTLESS, score)
    spec, one = max(counts, key=lambda pair: pair[0].weight * (1 - criterion_score(pair[1])))
    word = f"{benchmark_verdict(best)}, scores" if lost is None else "scores at most"
    reason = f"{word} {best:.3g}: {called(spec)}: {one.reason}"
    return TrialVerdict(Outcome.FAIL, None, reason, score)
