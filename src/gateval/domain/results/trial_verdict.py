"""What a trial's assessments make of it, by the Eval's scoring model: `models/` has one file each.

An assertion that could not be evaluated makes a trial an `error`, unless it fails anyway. What does
not count makes nothing, unless there is nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from gateval.domain.manifests.evaluation import ScoringModel, ScoringSpec
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.results.models.benchmark import by_criteria
from gateval.domain.results.models.experiment import by_scorers
from gateval.domain.results.models.fixtures import by_assertions
from gateval.domain.results.models.verdict import TrialVerdict
from gateval.domain.results.models.weighted import by_weight
from gateval.domain.trials.trial import Assessment

Judging: TypeAlias = Callable[[ScoringSpec, Fixture, Sequence[Assessment]], TrialVerdict]

_MODELS: Mapping[ScoringModel, Judging] = MappingProxyType(
    {
        ScoringModel.FIXTURES: by_assertions,
        ScoringModel.WEIGHTED: by_weight,
        ScoringModel.BENCHMARK: by_criteria,
        ScoringModel.EXPERIMENT: by_scorers,
    }
)


def trial_verdict(
    scoring: ScoringSpec, fixture: Fixture, assessments: Sequence[Assessment]
) -> TrialVerdict:
    """Return what these assessments, one for each assertion of the fixture, make of a trial."""
    return _MODELS[scoring.model](scoring, fixture, assessments)
