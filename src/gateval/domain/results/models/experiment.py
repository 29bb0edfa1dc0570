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
from gateval.domain.results.models.verdict import TrialVerdict, by_mean, counted
from gateval.domain.trials.trial import Assessment


def by_scorers(
    scoring: ScoringSpec, fixture: Fixture, assessments: Sequence[Assessment]
) -> TrialVerdict:
    """Return what the scorers make of one run of a row, by the model `experiment`."""
    return by_mean(scoring, fixture, assessments, counted(fixture, assessments))
