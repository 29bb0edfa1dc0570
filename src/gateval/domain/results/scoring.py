"""From trials to scores: a fixture's rate, an Eval's score, and how sure either is.

The fixture model: a trial passes when every assertion passes. A fixture's rate is passes over
*planned* repetitions, the Eval's score is the severity-weighted mean of the rates. What could not
be measured stays in the denominator, so both are intervals: `low` counts it as failed, `high` as
passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from pydantic import Field

from gateval.domain.base import Value
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.severity import DEFAULT_WEIGHTS, Severity
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.results import Grouped
from gateval.domain.trials.trial import Assessment, AssessmentStatus, Outcome, Side, Trial

TOLERANCE = 1e-9
"""Scores are sums of products of decimals; a threshold is met within this distance."""


class Meets(StrEnum):
    """Whether an interval meets a threshold."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class FixtureScore(Value):
    """One fixture on one side: how its planned repetitions ended. `missing` ones never ran."""

    fixture: str
    severity: Severity
    weight: float
    planned: int = Field(ge=1)
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skips: int = 0

    @property
    def missing(self) -> int:
        """Planned repetitions without a trial."""
        return self.planned - self.passed - self.failed - self.errors - self.skips

    @property
    def unmeasured(self) -> int:
        """Repetitions that say nothing: errors, skips and missing ones."""
        return self.planned - self.passed - self.failed

    @property
    def low(self) -> float:
        """The rate if everything unmeasured had failed, in [0, 1]."""
        return self.passed / self.planned

    @property
    def high(self) -> float:
        """The rate if everything unmeasured had passed, in [0, 1]."""
        return (self.passed + self.unmeasured) / self.planned

    @property
    def all_passed(self) -> bool:
        """Every planned repetition passed."""
        return self.passed == self.planned

    @property
    def all_failed(self) -> bool:
        """Every planned repetition was measured and failed."""
        return self.failed == self.planned

    @property
    def measured(self) -> bool:
        """Every planned repetition was measured."""
        return self.unmeasured == 0


class EvalScore(Value):
    """An Eval on one side: its score as an interval in [0, 1], over `fixtures`."""

    eval: str
    side: Side
    threshold: float
    low: float
    high: float
    fixtures: tuple[FixtureScore, ...] = Field(min_length=1)

    @property
    def measured(self) -> bool:
        """The score is one number, not an interval."""
        return all(fixture.measured for fixture in self.fixtures)

    @property
    def meets(self) -> Meets:
        """Whether the score reaches the threshold, however the unmeasured trials would end.

        A threshold of 1 asks for every fixture, however little one weighs.
        """
        if self._reaches(self.low, [fixture.low for fixture in self.fixtures]):
            return Meets.YES
        high = self._reaches(self.high, [fixture.high for fixture in self.fixtures])
        return Meets.UNKNOWN if high else Meets.NO

    def _reaches(self, score: float, rates: Sequence[float]) -> bool:
        if self.threshold >= 1:
            return all(rate == 1 for rate in rates)
        return score >= self.threshold - TOLERANCE


def trial_score(fixture: Fixture, assessments: Sequence[Assessment]) -> float | None:
    """Return Σ weight × severity weight of passed assertions over Σ of all, in [0, 1].

    None when an assessment is missing or an error: what was not measured has no score.
    """
    if len(assessments) != len(fixture.assertions):
        return None
    if any(assessment.status is AssessmentStatus.ERROR for assessment in assessments):
        return None
    weights = [
        spec.weight * DEFAULT_WEIGHTS[spec.severity or fixture.severity]
        for spec in fixture.assertions
    ]
    passed = sum(
        weight
        for weight, assessment in zip(weights, assessments, strict=True)
        if assessment.status is AssessmentStatus.PASSED
    )
    return min(1.0, passed / sum(weights))


def score_fixture(planned: PlannedEval, fixture: Fixture, trials: Iterable[Trial]) -> FixtureScore:
    """Count the outcomes of one fixture's trials on one side."""
    counts = dict.fromkeys(Outcome, 0)
    for trial in trials:
        counts[trial.outcome] += 1
    return FixtureScore(
        fixture=fixture.name,
        severity=fixture.severity,
        weight=planned.scoring.weight(fixture.severity),
        planned=planned.execution.reps_per_fixture,
        passed=counts[Outcome.PASS],
        failed=counts[Outcome.FAIL],
        errors=counts[Outcome.ERROR],
        skips=counts[Outcome.SKIP],
    )


def score_eval(planned: PlannedEval, side: Side, trials: Grouped) -> EvalScore:
    """Score one Eval on one side from its trials in `trials`."""
    fixtures = tuple(
        score_fixture(
            planned,
            fixture,
            trials.get((planned.measured_by(fixture.name), fixture.name, side), ()),
        )
        for fixture in planned.fixtures
    )
    total = sum(fixture.weight for fixture in fixtures)
    return EvalScore(
        eval=planned.name,
        side=side,
        threshold=planned.scoring.pass_threshold,
        low=_share(fixtures, total, high=False),
        high=_share(fixtures, total, high=True),
        fixtures=fixtures,
    )


def _share(fixtures: Sequence[FixtureScore], total: float, *, high: bool) -> float:
    """The weighted mean rate."""
    rates = [fixture.high if high else fixture.low for fixture in fixtures]
    weighted = sum(fixture.weight * rate for fixture, rate in zip(fixtures, rates, strict=True))
    return min(1.0, weighted / total)
