"""The model `experiment`: named scorers, each with an average over the golden set.

The article is "Evals - testing AI agents" (`runEval`): a scorer's average is the sum of its scores
over the number of rows. A row scores the mean of its scorers, by weight, and the experiment the
mean of its rows: the article has no score for the whole. A row without an answer scores 0 by every
scorer.

Stricter than the article: a scorer that could not be evaluated makes the row an error and its own
average unknown. What was not measured is no score.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.manifests.evaluation import ScoringSpec
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.results.models.verdict import (
    TrialVerdict,
    at_best,
    counted,
    mean,
    nothing_counts,
    says_too_little,
    unmeasured,
    worst,
)
from gateval.domain.results.scoring import TOLERANCE
from gateval.domain.trials.trial import Assessment, Outcome


def by_scorers(
    scoring: ScoringSpec, fixture: Fixture, assessments: Sequence[Assessment]
) -> TrialVerdict:
    """Return what the scorers make of one run of a row, by the model `experiment`."""
    counts = counted(fixture, assessments)
    lost = unmeasured(fixture, assessments)
    if says_too_little(fixture, assessments, counts):
        return lost or nothing_counts(assessments)
    best = mean([(spec.weight, at_best(one)) for spec, one in counts])
    if best < scoring.pass_score - TOLERANCE:
        said = f"{best:.3g}" if lost is None else f"at most {best:.3g}"
        reason = f"scores {said}, below {scoring.pass_score:g}: {worst(counts)}"
        return TrialVerdict(Outcome.FAIL, None, reason, None if lost else best)
    return lost or TrialVerdict(Outcome.PASS, None, "", best)
